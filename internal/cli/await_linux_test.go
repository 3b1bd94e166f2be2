package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// awaitPatience is for a machine that hardly gets on.
const awaitPatience = 30 * time.Second

// await returns once a peer is up, as nobody can say how long a program takes to
// start: a process that works in this script's directory listens for connections, or
// waits for packets. How many are to be up is its argument, 1 without one.
func await() {
	want := 1
	if len(os.Args) > 1 {
		if _, err := fmt.Sscan(os.Args[1], &want); err != nil {
			fmt.Fprintln(os.Stderr, "usage: await [N]")
			os.Exit(2)
		}
	}
	here, err := os.Getwd()
	for end := time.Now().Add(awaitPatience); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		up := 0
		processes, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range processes {
			if cwd, err := os.Readlink(p + "/cwd"); err == nil && cwd == here && (listens(p) || polls(p)) {
				up++
			}
		}
		if up >= want {
			os.Exit(0)
		}
	}
	fmt.Fprintf(os.Stderr, "await: no %d processes that listen in %s after %v (%v)\n", want, here, awaitPatience, err)
	os.Exit(1)
}

// listens is whether a process has a TCP socket that listens: state 0A, and in the
// tenth column its inode (proc_net_tcp of the kernel's documentation).
func listens(process string) bool {
	sockets := map[string]bool{}
	fds, _ := filepath.Glob(process + "/fd/*")
	for _, fd := range fds {
		to, _ := os.Readlink(fd)
		sockets[to] = true
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(process + "/net/" + table)
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && sockets["socket:["+f[9]+"]"] {
				return true
			}
		}
	}
	return false
}

// polls is whether a thread sleeps in poll(2) or select(2), as receivers do once all
// is open, and a program in Go does for nothing else: its own waiting is by epoll(7).
func polls(process string) bool {
	threads, _ := filepath.Glob(process + "/task/*/wchan")
	for _, t := range threads {
		if where, _ := os.ReadFile(t); strings.HasPrefix(string(where), "poll_schedule_timeout") {
			return true
		}
	}
	return false
}
