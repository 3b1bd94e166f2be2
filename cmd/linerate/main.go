// Linerate measures networks: it sends UDP and TCP at an exact rate and counts what
// arrives; see the README.
package main

import (
	"os"

	"linerate/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, cli.Stdio{Out: os.Stdout, Err: os.Stderr}))
}
