package tcp

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab"
)

func TestInfoOfACleanStream(t *testing.T) {
	c := newLine(t, Options{}, Options{})
	const bytes = 4 << 20
	done := receive(&Receiver{Conn: c.server})
	s := Sender{Conn: c.client, Pattern: ramp(t), Bytes: bytes}
	check(t, s.Run(t.Context()))
	sent := untilAcked(t, c.client, s.Sent())
	check(t, c.client.CloseWrite())
	<-done
	if sent.PMTU != 1500 ||
		*sent.MinRTT <= 0 || *sent.RTT < *sent.MinRTT || *sent.RTT > time.Second || *sent.RTTVar <= 0 ||
		sent.CongestionWindow < 10*1448 ||
		*sent.SendWindow == 0 || *sent.DeliveryRate == 0 {
		t.Errorf("implausible: %+v", sent)
	}
}

// untilAcked waits until the peer has acknowledged so many bytes, which are all,
// and tells what the kernel then knows.
func untilAcked(t *testing.T, conn *net.TCPConn, bytes uint64) *Info {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		i, err := ReadInfo(conn)
		check(t, err)
		const syn = 1 // acknowledged like a byte
		if *i.BytesAcked == bytes+syn {
			return i
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d bytes acknowledged after 5 s", *i.BytesAcked, bytes)
		}
	}
}

func TestInfoCountsRetransmissions(t *testing.T) {
	l := newLab(t, lab.Config{Shape: lab.Shape{Rate: 100_000_000, Limit: 20_000}})
	c := connect(t, l, l.B().Addr4, Options{}, Options{})
	done := receive(&Receiver{Conn: c.server})
	s := Sender{Conn: c.client, Pattern: ramp(t), Bytes: 2 << 20}
	check(t, s.Run(t.Context()))
	i := untilAcked(t, c.client, s.Sent())
	check(t, c.client.CloseWrite())
	<-done
	dropped, _, err := l.ShapeDrops()
	check(t, err)
	if dropped == 0 || i.Retransmits == 0 {
		t.Errorf("%d frames dropped, %d segments sent again", dropped, i.Retransmits)
	}
}

func TestInfoTellsAClosedWindow(t *testing.T) {
	c := newLine(t, Options{}, Options{Window: 10_000})
	s := Sender{Conn: c.client, Pattern: ramp(t), Duration: 300 * time.Millisecond}
	check(t, s.Run(t.Context()))
	i, err := ReadInfo(c.client)
	check(t, err)
	if *i.WindowLimited < 100*time.Millisecond || *i.WindowLimited > *i.Busy {
		t.Errorf("window-limited %v of %v busy", *i.WindowLimited, *i.Busy)
	}
}

func TestOldKernelsLeaveFactsAbsent(t *testing.T) {
	b := make([]byte, unix.SizeofTCPInfo)
	for i := range b {
		b[i] = 1
	}
	i, err := parseInfo(b[:basicInfo])
	check(t, err)
	if i.PacingRate != nil || i.BytesAcked != nil || i.MinRTT != nil || i.Busy != nil || i.SendWindow != nil {
		t.Errorf("%+v, want what an old kernel does not tell absent", i)
	}
	if i, err = parseInfo(b[:200]); err != nil || i.Busy == nil || i.SendWindow != nil {
		t.Errorf("%+v, %v; want the busy time and not the send window", i, err)
	}
	if i, err := parseInfo(b[:basicInfo-1]); err == nil {
		t.Errorf("%+v of a structure that is cut off", i)
	}
}

func TestFactsThatAreNotThereYet(t *testing.T) {
	b := make([]byte, unix.SizeofTCPInfo)
	binary.NativeEndian.PutUint32(b[148:], 1<<32-1)
	binary.NativeEndian.PutUint64(b[104:], 1<<64-1)
	i, err := parseInfo(b)
	check(t, err)
	if i.RTT != nil || i.RTTVar != nil || i.MinRTT != nil || i.PacingRate != nil || i.DeliveryRate != nil {
		t.Errorf("%+v, want no round trip, pacing or delivery rate", i)
	}
}

func FuzzInfo(f *testing.F) {
	f.Add(make([]byte, basicInfo))
	f.Add(make([]byte, unix.SizeofTCPInfo))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := parseInfo(b)
		if (err == nil) != (len(b) >= basicInfo) || (i == nil) == (err == nil) {
			t.Errorf("%d bytes: %v, %v", len(b), i, err)
		}
	})
}
