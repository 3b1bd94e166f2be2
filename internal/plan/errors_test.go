package plan

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestOpenError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		kind string
	}{
		{syscall.EPERM, "host"}, {syscall.EACCES, "host"}, {syscall.ENODEV, "host"}, {errors.ErrUnsupported, "host"},
		{syscall.ENETUNREACH, "peer"}, {syscall.EHOSTUNREACH, "peer"},
		{syscall.EADDRINUSE, ""}, {errors.New("other"), ""},
	} {
		wrapped := fmt.Errorf("path udp: %w", tt.err)
		got := OpenError(wrapped)
		kind := ""
		if errors.As(got, new(*HostError)) {
			kind = "host"
		}
		if errors.As(got, new(*PeerError)) {
			kind = "peer"
		}
		if kind != tt.kind || got.Error() != wrapped.Error() || !errors.Is(got, tt.err) {
			t.Errorf("%v became %#v, want kind %q", tt.err, got, tt.kind)
		}
	}
}

// What bind(2) refuses comes with what to do.
func TestBindError(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EADDRINUSE: "ss -tuanp", syscall.EACCES: "CAP_NET_BIND_SERVICE", syscall.EINVAL: "invalid argument",
	} {
		got := OpenError(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", errno)})
		if !errors.Is(got, errno) || !strings.Contains(got.Error(), want) {
			t.Errorf("%v became %v, want %q in it", errno, got, want)
		}
		if got := OpenError(os.NewSyscallError("bpf", errno)); strings.ContainsAny(got.Error(), "()") {
			t.Errorf("another call's %v became %v", errno, got)
		}
	}
}

func TestUsageErrorNamesItsFlag(t *testing.T) {
	if got := (&UsageError{"frame", "63 is too small"}).Error(); got != "--frame: 63 is too small" {
		t.Errorf("got %q", got)
	}
	if got := (&UsageError{Msg: "no host"}).Error(); got != "no host" {
		t.Errorf("got %q", got)
	}
}
