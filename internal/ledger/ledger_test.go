package ledger

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLedgerSumsToWhatWasLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lost := rapid.Uint64Range(0, 1000).Draw(t, "lost")
		a := Account{
			Lost:           lost,
			ChecksumErrors: rapid.Uint64Range(0, 1500).Draw(t, "checksum"),
			SocketDrops:    rapid.Uint64Range(0, 1500).Draw(t, "socket"),
			ProgramDrops:   rapid.Uint64Range(0, 1500).Draw(t, "program"),
		}
		l := Settle(a)
		sum := l.Unexplained
		for _, s := range l.Lost {
			if s.Packets == 0 || s.Evidence == "" || s.Advice == "" {
				t.Fatalf("an empty stage: %+v", s)
			}
			if s.AtMost != nil && *s.AtMost <= s.Packets {
				t.Fatalf("a bound that binds nothing: %+v", s)
			}
			sum += s.Packets
		}
		if sum != lost {
			t.Fatalf("%+v explains %d of %d", l, sum, lost)
		}
	})
}

func TestLedgerNamesTheSocket(t *testing.T) {
	l := Settle(Account{Arrived: 900, Lost: 100, SocketDrops: 90, WindowAsked: 4 << 20, WindowGot: 208 << 10})
	if len(l.Lost) != 1 || l.Lost[0].Stage != "receiver_socket" || l.Lost[0].Packets != 90 || l.Unexplained != 10 {
		t.Fatalf("%+v", l)
	}
}
