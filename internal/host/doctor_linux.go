package host

import (
	"os"
	"strconv"
	"strings"
)

// coreLimit reads a number of /proc/sys/net/core. It is unknown in a network
// namespace where the kernel does not show it.
func coreLimit(name string) (int64, bool) {
	b, err := os.ReadFile("/proc/sys/net/core/" + name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}
