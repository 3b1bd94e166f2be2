package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/units"
)

func probeLimits(t *testing.T, stack units.Stack, mtu int) limits {
	t.Helper()
	l, err := newLimits(stack, "probe", 18, mtu, "eth0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// BC-044: headers of IPv6 leave 20 bytes less for the payload.
func TestSizes(t *testing.T) {
	vlan, v6, both := units.Stack{VLANTags: 1}, units.Stack{IPv6: true}, units.Stack{VLANTags: 1, IPv6: true}
	for _, tt := range []struct {
		name           string
		stack          units.Stack
		mtu            int
		frame, payload int
		mix            []int
		want           []int
	}{
		{"default", units.Stack{}, 1500, 0, 0, nil, []int{1472}},
		{"default, jumbo", units.Stack{}, 9000, 0, 0, nil, []int{8972}},
		{"default, VLAN", vlan, 1500, 0, 0, nil, []int{1472}},
		{"default, IPv6", v6, 1500, 0, 0, nil, []int{1452}},
		{"default, loopback", units.Stack{}, 65536, 0, 0, nil, []int{65507}},
		{"default, loopback, IPv6", v6, 65536, 0, 0, nil, []int{65488}},
		{"smallest", units.Stack{}, 1500, 64, 0, nil, []int{18}},
		{"smallest, VLAN", vlan, 1500, 68, 0, nil, []int{18}},
		{"smallest, IPv6", v6, 1500, 84, 0, nil, []int{18}},
		{"smallest, both", both, 1500, 88, 0, nil, []int{18}},
		{"largest", units.Stack{}, 1500, 1518, 0, nil, []int{1472}},
		{"largest, VLAN", vlan, 1500, 1522, 0, nil, []int{1472}},
		{"largest, IPv6", v6, 9000, 9018, 0, nil, []int{8952}},
		{"payload", units.Stack{}, 1500, 0, 1000, nil, []int{1000}},
		{"mix", units.Stack{}, 1500, 0, 0, []int{64, 594, 1518, 64}, []int{18, 548, 1472, 18}},
	} {
		got, err := probeLimits(t, tt.stack, tt.mtu).sizes(tt.frame, tt.payload, Mix{Frames: tt.mix})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// BC-026: nothing is sent in fragments without a word, and nothing that IP can't carry.
func TestSizesRefused(t *testing.T) {
	for _, tt := range []struct {
		stack          units.Stack
		mtu            int
		frame, payload int
		mix            []int
		want           string
	}{
		{units.Stack{}, 1500, 9018, 0, nil, "--frame: 9018 needs MTU 9000; eth0 has 1500: the largest frame here is 1518"},
		{units.Stack{VLANTags: 1}, 1500, 1523, 0, nil, "--frame: 1523 needs MTU 1501; eth0 has 1500: the largest frame here is 1522"},
		{units.Stack{}, 1500, 0, 1473, nil, "--payload: 1473 needs MTU 1501; eth0 has 1500: the largest payload here is 1472"},
		{units.Stack{}, 65536, 0, 65508, nil, "--payload: 65508 is more than a UDP datagram carries: the largest payload here is 65507"},
		{units.Stack{}, 1500, 63, 0, nil, "--frame: 63 is too small for the probe header of 18 bytes: the smallest frame here is 64"},
		{units.Stack{VLANTags: 1}, 1500, 67, 0, nil, "--frame: 67 is too small for the probe header of 18 bytes: the smallest frame here is 68"},
		{units.Stack{IPv6: true}, 1500, 83, 0, nil, "--frame: 83 is too small for the probe header of 18 bytes: the smallest frame here is 84"},
		{units.Stack{VLANTags: 1, IPv6: true}, 1500, 64, 0, nil, "--frame: 64 is too small for the probe header of 18 bytes: the smallest frame here is 88"},
		{units.Stack{}, 1500, 0, 17, nil, "--payload: 17 is too small for the probe header of 18 bytes"},
		{units.Stack{}, 1500, 0, 0, []int{64, 9018}, "--imix: 9018 needs MTU 9000; eth0 has 1500: the largest frame here is 1518"},
		{units.Stack{IPv6: true}, 1500, 0, 0, []int{1518, 64}, "--imix: 64 is too small for the probe header of 18 bytes: the smallest frame here is 84"},
		{units.Stack{}, 1500, 64, 18, nil, "--payload: contradicts --frame: give one of them"},
		{units.Stack{}, 1500, 64, 0, []int{64}, "--imix: has sizes of its own: leave out --frame and --payload"},
	} {
		_, err := probeLimits(t, tt.stack, tt.mtu).sizes(tt.frame, tt.payload, Mix{Frames: tt.mix})
		var usage *UsageError
		if !errors.As(err, &usage) {
			t.Errorf("frame %d, payload %d, mix %v: %v, want a UsageError", tt.frame, tt.payload, tt.mix, err)
			continue
		}
		if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	var host *HostError
	if _, err := newLimits(units.Stack{}, "probe", 18, 40, "eth0"); !errors.As(err, &host) {
		t.Errorf("MTU 40: %v, want a HostError", err)
	}
}

// BC-026: where fragments are wanted, each datagram is known to leave in so many.
func TestFragments(t *testing.T) {
	v4, v6 := units.Stack{}, units.Stack{IPv6: true}
	for _, tt := range []struct {
		stack              units.Stack
		mtu, payload, want int
	}{
		{v4, 1500, 1473, 2}, {v4, 1500, 8192, 6}, {v4, 1500, 65507, 45}, {v4, 9000, 8973, 2},
		{v6, 1500, 1453, 2}, {v6, 1280, 8192, 7}, {v6, 1500, 65507, 46},
	} {
		l := limits{stack: tt.stack, mtu: tt.mtu}
		if got := l.fragments(tt.payload); got != tt.want {
			t.Errorf("MTU %d, IPv6 %t: %d bytes leave in %d fragments, want %d", tt.mtu, tt.stack.IPv6, tt.payload, got, tt.want)
		}
	}
}
