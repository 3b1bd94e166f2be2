//go:build foreign

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// machines are those that this one can stand in for, and what runs their programs
// here; empty where the processor does.
var machines = map[string]string{"386": "", "arm": "qemu-arm-static", "arm64": "qemu-aarch64-static"}

// TestForeign runs the program of other machines in each role against that of this
// one, in its lab.
func TestForeign(t *testing.T) {
	here := build(t, runtime.GOARCH)
	for arch, emulator := range machines {
		t.Run(arch, func(t *testing.T) {
			t.Parallel() // each lab is its own
			there := strings.TrimSpace(emulator + " " + build(t, arch))
			const test = " test 10.77.0.2 -k 200 --rate 1kpps --json"
			for role, command := range map[string]string{
				"test":       "lab -- " + there + test,
				"test -R":    "lab -- " + there + test + " -R",
				"test --tcp": "lab -- " + there + " test 10.77.0.2 --tcp -n 1M --json",
				"serve":      "lab --peer 'echo $$ > pid; exec " + there + " serve > serve.txt' -- sh -c 'until " + here + test + " > out; do sleep 0.1; done; kill $(cat pid); cat out'",
				"send":       "lab --peer '" + here + " recv --json > out' -- sh -c 'sleep 1; exec " + there + " send 10.77.0.2 -k 200 --rate 1kpps' > /dev/null && cat out",
				"recv":       "lab --peer '" + there + " recv --json > out' -- sh -c 'sleep 3; exec " + here + " send 10.77.0.2 -k 200 --rate 1kpps' > /dev/null && cat out",
			} {
				arrived(t, role, here+" "+command)
			}
		})
	}
}

// build makes the program of a machine.
func build(t *testing.T, arch string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "linerate-"+arch)
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// arrived wants a command to report that all 200 packets came, or over TCP as many
// bytes as were sent.
func arrived(t *testing.T, role, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "timeout 30 "+command)
	cmd.Dir, cmd.Stderr = t.TempDir(), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", role, err, out)
	}
	var report struct {
		Config struct{ Protocol string }
		Sender *struct {
			PayloadBytes uint64 `json:"payload_bytes"`
		}
		Receiver struct {
			Unique, Lost uint64
			PayloadBytes uint64 `json:"payload_bytes"`
		}
		Error string
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%s: %v\n%s", role, err, out)
	}
	r := &report.Receiver
	switch {
	case report.Error != "":
		t.Errorf("%s: %s", role, report.Error)
	case report.Config.Protocol == "tcp" && (r.PayloadBytes != 1<<20 || report.Sender.PayloadBytes != 1<<20):
		t.Errorf("%s: %d bytes sent, %d arrived", role, report.Sender.PayloadBytes, r.PayloadBytes)
	case report.Config.Protocol == "udp" && (r.Unique != 200 || r.Lost != 0):
		t.Errorf("%s: %d arrived, %d lost", role, r.Unique, r.Lost)
	}
}
