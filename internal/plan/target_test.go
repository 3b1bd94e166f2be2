package plan

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSplitTarget(t *testing.T) {
	for _, tt := range []struct {
		in, host string
		port     uint16
	}{
		{"10.0.0.2", "10.0.0.2", 0},
		{"10.0.0.2:5201", "10.0.0.2", 5201},
		{"example.net", "example.net", 0},
		{"example.net:1", "example.net", 1},
		{"::1", "::1", 0},
		{"::1:5201", "::1:5201", 0}, // an address of its own
		{"[::1]", "::1", 0},
		{"[::1]:65535", "::1", 65535},
		{"fe80::1%eth0", "fe80::1%eth0", 0},
		{"[fe80::1%eth0.100]:7", "fe80::1%eth0.100", 7},
		{":5201", "", 5201},
		{"*:5201", "*", 5201},
		{"", "", 0},
	} {
		host, port, err := splitTarget(tt.in)
		if err != nil || host != tt.host || port != tt.port {
			t.Errorf("splitTarget(%q) = %q, %d, %v; want %q, %d", tt.in, host, port, err, tt.host, tt.port)
		}
	}
	for _, in := range []string{
		"host:", "host:0", "host:65536", "host:-1", "host:+1", "host:http", "host:1:2",
		"[::1", "[::1]x", "[::1]5201", "[::1]:", "[host]:1", "[]:1", "[10.0.0.1:5201",
	} {
		if host, port, err := splitTarget(in); err == nil {
			t.Errorf("splitTarget(%q) = %q, %d; want an error", in, host, port)
		}
	}
}

func FuzzSplitTarget(f *testing.F) {
	for _, seed := range []string{"10.0.0.2:5201", "[fe80::1%eth0]:7", "::1", "host:", "[::1", ":1", "a:b:c", "[::1]]:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, port, err := splitTarget(s)
		if err != nil {
			if host != "" || port != 0 {
				t.Fatalf("%q: %q and %d beside %v", s, host, port, err)
			}
			return
		}
		joined := host
		if port != 0 {
			joined = net.JoinHostPort(host, strconv.Itoa(int(port)))
		}
		if again, samePort, err := splitTarget(joined); err != nil || again != host || samePort != port {
			t.Fatalf("%q is %q, %d; joined to %q it is %q, %d, %v", s, host, port, joined, again, samePort, err)
		}
	})
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name string
		only family
		want string
	}{
		{"10.0.0.2", anyIP, "10.0.0.2"},
		{"10.0.0.2", ipv4, "10.0.0.2"},
		{"::ffff:10.0.0.2", ipv4, "10.0.0.2"},
		{"fe80::1%eth0", ipv6, "fe80::1%eth0"},
		{"localhost", ipv4, "127.0.0.1"},
	} {
		got, err := resolve(t.Context(), tt.name, tt.only)
		if err != nil {
			t.Errorf("%s, %v: %v", tt.name, tt.only, err)
			continue
		}
		if diff := cmp.Diff(netip.MustParseAddr(tt.want), got[0], cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s, %v (-want +got):\n%s", tt.name, tt.only, diff)
		}
	}
	var usage *UsageError
	if _, err := resolve(t.Context(), "::1", ipv4); !errors.As(err, &usage) {
		t.Errorf("::1 as IPv4: %v, want a UsageError", err)
	}
}

func TestNameThatDoesNotResolve(t *testing.T) {
	var peer *PeerError
	start := time.Now()
	// The top level is reserved for names that never resolve (RFC 6761).
	if _, err := resolve(t.Context(), "nosuch.invalid", anyIP); !errors.As(err, &peer) {
		t.Errorf("%v, want a PeerError", err)
	}
	if took := time.Since(start); took > resolvePatience+time.Second {
		t.Errorf("took %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := resolve(ctx, "nosuch.invalid", anyIP); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
