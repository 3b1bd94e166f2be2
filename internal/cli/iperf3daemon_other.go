//go:build !unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// A daemon is of Unix alone.
type daemon struct{ starter *os.File }

func thisDaemon() *daemon { return nil }

func (*daemon) listens() {}

func startDaemon() error {
	return fmt.Errorf("--daemon on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
