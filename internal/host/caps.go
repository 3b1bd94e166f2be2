package host

import "strconv"

// A Capability is one of Linux's privileges, by its number in
// linux/capability.h (capabilities(7)).
type Capability uint8

const (
	NetAdmin Capability = 12
	NetRaw   Capability = 13
	SysAdmin Capability = 21
	Perfmon  Capability = 38
	BPF      Capability = 39
)

// String is the kernel's name.
func (c Capability) String() string {
	switch c {
	case NetAdmin:
		return "CAP_NET_ADMIN"
	case NetRaw:
		return "CAP_NET_RAW"
	case SysAdmin:
		return "CAP_SYS_ADMIN"
	case Perfmon:
		return "CAP_PERFMON"
	case BPF:
		return "CAP_BPF"
	}
	return "capability " + strconv.Itoa(int(c))
}

// Caps is a set of capabilities.
type Caps uint64

// Has reports whether the set holds a capability.
func (s Caps) Has(c Capability) bool { return s&(1<<c) != 0 }

// Lacks returns those of the given capabilities that the set does not hold.
func (s Caps) Lacks(want ...Capability) []Capability {
	var missing []Capability
	for _, c := range want {
		if !s.Has(c) {
			missing = append(missing, c)
		}
	}
	return missing
}
