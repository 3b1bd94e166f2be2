//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

const (
	// daemonMark is in the environment of a daemon.
	daemonMark = "LINERATE_DAEMON"
	// daemonFile is the pipe to the command that started it.
	daemonFile = 3
	// daemonListens is what it says there once it listens.
	daemonListens = "listens"
)

// A daemon is a server away from any terminal, as it sees itself; nil for a server
// that is none.
type daemon struct{ starter *os.File }

// thisDaemon is nil in a command that is no daemon.
func thisDaemon() *daemon {
	if os.Getenv(daemonMark) == "" {
		return nil
	}
	return &daemon{os.NewFile(daemonFile, "the command that started this daemon")}
}

// listens tells whoever started the daemon that it may go.
func (d *daemon) listens() {
	if d != nil {
		_, _ = io.WriteString(d.starter, daemonListens) // or it went without waiting
		d.starter.Close()
	}
}

// startDaemon runs this command line once more in a session of its own (setsid(2)),
// without a terminal, and waits until it listens. Unlike iperf3 it keeps the working
// directory, so that paths stay what they are.
func startDaemon() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	said, starter, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.Cmd{
		Path: self, Args: os.Args, Env: append(os.Environ(), daemonMark+"=1"), ExtraFiles: []*os.File{starter},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	starter.Close()
	if err != nil {
		return fmt.Errorf("unable to become a daemon: %w", err)
	}
	text, err := io.ReadAll(said)
	switch {
	case err != nil:
		return err
	case string(text) == daemonListens:
		return nil
	case len(text) == 0:
		return errors.New("the daemon ended: its log file says why")
	}
	return errors.New(strings.TrimPrefix(strings.TrimSpace(string(text)), iperf3ErrorPrefix))
}
