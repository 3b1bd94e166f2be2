package host

import (
	"os"
	"strings"
	"testing"
)

func TestKernel(t *testing.T) {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	must(t, err)
	if want := "Linux " + strings.TrimSpace(string(release)); Kernel() != want {
		t.Errorf("got %q, want %q", Kernel(), want)
	}
}
