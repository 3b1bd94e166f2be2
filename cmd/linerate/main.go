// Linerate generates and counts UDP at line rate; see the README.
package main

import (
	"os"

	"linerate/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, cli.Stdio{Out: os.Stdout, Err: os.Stderr}))
}
