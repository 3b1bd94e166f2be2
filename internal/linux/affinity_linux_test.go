package linux

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPinProcess pins a process of its own: this test binary, once more.
func TestPinProcess(t *testing.T) {
	const asked = "LINERATE_PIN"
	if os.Getenv(asked) != "" {
		if err := PinProcess(0); err != nil {
			t.Fatal(err)
		}
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(status), "\nCpus_allowed_list:\t0\n") {
				t.Errorf("thread %s may run elsewhere:\n%s", task.Name(), status)
			}
		}
		if err := PinProcess(1 << 20); err == nil {
			t.Error("a CPU that is not there was taken")
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPinProcess$")
	cmd.Env = append(os.Environ(), asked+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
