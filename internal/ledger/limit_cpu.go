package ledger

import (
	"fmt"

	"linerate/internal/result"
)

// senderCore is a core of the sender at its end.
func (t *Test) senderCore() *result.Limit {
	if core := t.atItsEnd(t.SenderHost); core != "" {
		return limit("sender_cpu", "%s", "on the sender "+core)
	}
	return nil
}

// receiverCore is a core of the receiver at its end. What holds no sender back, as
// over UDP, is held back by what it loses alone.
func (t *Test) receiverCore() *result.Limit {
	if r := t.Receiver; r != nil && r.ArrivedPackets != nil && r.Lost == 0 {
		return nil
	}
	if core := t.atItsEnd(t.ReceiverHost); core != "" {
		return limit("receiver_cpu", "%s", "on the receiver "+core)
	}
	return nil
}

// atItsEnd says which core of a host had nothing left to give to the test, what it
// did, and how little of it our busiest thread had; empty if none, or if that is
// unknown.
func (t *Test) atItsEnd(h *result.Host) string {
	says := exhausted(h)
	if says == "" {
		return ""
	}
	if by := t.crowded(h); by != "" {
		return says + "; " + by
	}
	if thread := h.CPU.BusiestThread; thread != nil && *thread < busy/2 {
		says += fmt.Sprintf(", of which our busiest thread had %s", percent(*thread))
	}
	return says
}

// crowded says how long our busiest thread of a host waited for its turn, and the
// cure; empty if others hardly took it, or if that is unknown. Who works on packets
// below it (ksoftirqd) works for the test.
func (t *Test) crowded(h *result.Host) string {
	if h == nil || h.CPU == nil || h.CPU.BusiestThread == nil || h.CPU.BusiestThreadWaited == nil {
		return ""
	}
	waited, packets := *h.CPU.BusiestThreadWaited, 0.0
	for _, c := range h.CPU.Cores {
		if at := h.CPU.BusiestThreadCore; at != nil && c.Core == *at {
			packets = c.Softirq + c.IRQ
		}
	}
	if waited-packets < hindered {
		return ""
	}
	cure := "end what else runs there"
	if h == t.SenderHost && t.Config.Protocol == "udp" && t.Config.Direction != "reverse" && !t.Config.Realtime {
		cure += ", or run before it by --realtime"
	}
	return fmt.Sprintf("our busiest thread had %s and waited for its turn %s of the time (%s)", percent(*h.CPU.BusiestThread), percent(waited), cure)
}

// exhausted says which core of a host had nothing left to give to the test and what
// it did; empty if none, or if that is unknown. That is the core where our busiest
// thread ran, or one that has its hands full of packets below it (softirq).
// Another's load is no matter. A thread that moved may have had more than any one core.
func exhausted(h *result.Host) string {
	core := busiest(h)
	if core == nil || h.CPU.BusiestThreadCore == nil {
		return spent(core)
	}
	for i := range h.CPU.Cores {
		if c := &h.CPU.Cores[i]; c.Core == *h.CPU.BusiestThreadCore {
			if says := spent(c); says != "" {
				return says
			}
		}
	}
	if what, _ := most(core); what == "softirq" {
		if says := spent(core); says != "" {
			return says
		}
	}
	if thread := h.CPU.BusiestThread; thread != nil && *thread >= busy {
		return fmt.Sprintf("our busiest thread had %s of a core, now of one, now of another", percent(*thread))
	}
	return ""
}

// spent describes a core that had nothing left to give; empty if it had.
func spent(core *result.Core) string {
	if core == nil || 1-core.Idle < busy {
		return ""
	}
	what, share := most(core)
	return fmt.Sprintf("core %d was at %s, most of it %s (%s)", core.Core, percent(1-core.Idle), what, percent(share))
}

// most is what a core spent most of its busy time on.
func most(core *result.Core) (what string, share float64) {
	what, share = "user", core.User
	for _, s := range []struct {
		name  string
		share float64
	}{{"system", core.System}, {"softirq", core.Softirq + core.IRQ}, {"steal, which the hypervisor gave to others", core.Steal}} {
		if s.share > share {
			what, share = s.name, s.share
		}
	}
	return what, share
}

// busiest is the core of a host that idled least; nil if unknown.
func busiest(h *result.Host) *result.Core {
	if h == nil || h.CPU == nil {
		return nil
	}
	var most *result.Core
	for i := range h.CPU.Cores {
		if c := &h.CPU.Cores[i]; most == nil || c.Idle < most.Idle {
			most = c
		}
	}
	return most
}

// busiest is that of both ends: the receiver's where it is known, as a sender that
// paces keeps a core busy by waiting.
func (t *Test) busiest() (*result.Core, string) {
	if c := busiest(t.ReceiverHost); c != nil {
		return c, receiver
	}
	return busiest(t.SenderHost), sender
}
