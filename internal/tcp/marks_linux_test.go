package tcp

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab"
)

// What is kept unsent, and for how much a reader is woken, goes by the round trip of
// the path.
func TestMarksGoByTheRoundTrip(t *testing.T) {
	const window = 2 << 20
	for _, tt := range []struct {
		delay  time.Duration // each way
		unsent int           // 0 is the kernel's own choice
		share  int           // of the receive buffer
	}{
		{0, DefaultLen, 4},
		{5 * time.Millisecond, 0, 16},
	} {
		l := newLab(t, lab.Config{Delay: tt.delay})
		short := tt.delay == 0
		c := connect(t, l, l.B().Addr4, Options{}, Options{Window: window})
		for range 10 { // a machine that is away lengthens a handshake
			if isShort(c.client) == short && isShort(c.server) == short {
				break
			}
			c = connect(t, l, l.B().Addr4, Options{}, Options{Window: window})
		}
		s := Sender{Conn: c.client, Pattern: ramp(t), Bytes: 1000}
		check(t, s.Run(t.Context()))
		if got, err := number(c.client, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, "TCP_NOTSENT_LOWAT"); got != tt.unsent || err != nil {
			t.Errorf("delay %v: %d bytes unsent at most, %v; want %d", tt.delay, got, err, tt.unsent)
		}
		check(t, wakeRarely(c.server))
		_, buffer, err := Window(c.server)
		check(t, err)
		if got, err := number(c.server, unix.SOL_SOCKET, unix.SO_RCVLOWAT, "SO_RCVLOWAT"); got != buffer/tt.share || err != nil {
			t.Errorf("delay %v: woken for %d bytes of a buffer of %d, %v; want the %d-th part", tt.delay, got, buffer, err, tt.share)
		}
	}
}
