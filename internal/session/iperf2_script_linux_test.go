package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/lab"
	"linerate/internal/plan"
)

const scriptedSize = 128 // bytes of the datagrams below, as many as an answer has

// scripted is a datagram as a client of a release that reads a layout sends it;
// a negative id ends the flow.
func scripted(layout iperf2.Layout, id int64) []byte {
	b := make([]byte, scriptedSize)
	word := func(at int, v uint32) { binary.BigEndian.PutUint32(b[at:], v) }
	now := time.Now()
	switch layout {
	case iperf2.Layout21:
		(&iperf2.Settings{Flows: 1, Size: scriptedSize, Duration: time.Second}).PutUDP(b)
		word(12, uint32(id>>32))
	case iperf2.Layout2013:
		word(12, uint32(id>>32))
		word(16, 0x08000000)
		word(20, 1)
	case iperf2.Layout2010:
		copy(b[12:], "2345")
		word(20, 1)
		if id < 0 {
			id = int64(0x80000000 | uint32(-id))
		}
	case iperf2.Layout205:
		word(16, 1)
		word(20, 5001)
	}
	word(0, uint32(id))
	word(4, uint32(now.Unix()))
	word(8, uint32(now.Nanosecond()/1000))
	return b
}

// Clients of every release that send known numbers get the truth in their own
// layout. Stock servers tell 2.1.8's clients of copies and late datagrams that they
// have made up for losses, or of losses that there were none.
func TestIPerf2CountsKnownNumbers(t *testing.T) {
	t.Parallel()
	const high = 1 << 32
	d, c, b, a := iperf2.Layout21, iperf2.Layout2013, iperf2.Layout2010, iperf2.Layout205
	vectors := []struct {
		layout               iperf2.Layout
		ids                  []int64
		lost, late, received uint64 // datagrams without the FIN
	}{
		{d, []int64{1, 2, -3}, 0, 0, 2},
		{d, []int64{0, 1, -2}, 0, 0, 1},
		{d, []int64{1, 2, -5}, 2, 0, 2},
		{d, []int64{1, 3, 2, -4}, 0, 1, 3},
		{d, []int64{1, 3, 3, -5}, 2, 1, 3},
		{d, []int64{1, 4, 2, 2, -5}, 1, 2, 4},
		{d, []int64{1, 2, 3, 4, 2, 2, 2, -5}, 0, 3, 7},
		{d, []int64{5, 6, 7, -8}, 4, 0, 3},
		{d, []int64{high/2 - 1, high / 2, high/2 + 1, -high/2 - 2}, high/2 - 2, 0, 3},
		{d, []int64{high - 1, high, high + 2, -high - 3}, high - 2 + 1, 0, 3},
		{c, []int64{0, 1, 2, 4, -5}, 1, 0, 3},
		{b, []int64{0, 1, 2, 4, -5}, 1, 0, 3},
		{a, []int64{0, 1, 2, 4, -5}, 1, 0, 3},
		{a, []int64{0, 1, 3, 2, 2, -4}, 0, 2, 4},
	}
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	end := serveIPerf2(t, l.B())
	var clients sync.WaitGroup
	for _, v := range vectors {
		var c net.Conn
		check(t, l.A().Do(func() (err error) {
			c, err = net.Dial("udp", netip.AddrPortFrom(l.B().Addr4, 5001).String())
			return err
		}))
		clients.Go(func() {
			defer c.Close()
			for _, id := range v.ids {
				_, err := c.Write(scripted(v.layout, id))
				check(t, err)
			}
			fin := v.ids[len(v.ids)-1]
			got, err := scriptedReport(c, scripted(v.layout, fin))
			if err != nil {
				t.Errorf("layout %d, %v: %v", v.layout, v.ids, err)
				return
			}
			want := iperf2.Report{Bytes: scriptedSize * (v.received + 1), Lost: v.lost, OutOfOrder: v.late, Datagrams: uint64(-fin)}
			if have := (iperf2.Report{Bytes: got.Bytes, Lost: got.Lost, OutOfOrder: got.OutOfOrder, Datagrams: got.Datagrams}); have != want {
				t.Errorf("layout %d, %v: reported %+v, want %+v", v.layout, v.ids, have, want)
			}
		})
	}
	clients.Wait()
	if reports := end(len(vectors)); len(reports) != len(vectors) {
		t.Errorf("%d reports, want %d", len(reports), len(vectors))
	}
}

// scriptedReport waits for the report, and repeats the FIN as old releases do.
func scriptedReport(c net.Conn, fin []byte) (*iperf2.Report, error) {
	b := make([]byte, 2000)
	for range 40 { // a busy machine takes its time
		if err := c.SetReadDeadline(time.Now().Add(250 * time.Millisecond)); err != nil {
			return nil, err
		}
		if n, err := c.Read(b); err == nil {
			return iperf2.ParseReport(b[:n])
		}
		if _, err := c.Write(fin); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("no report")
}

// A client of ours reads the report of every release, behind the echo of its own
// FIN that some send first.
func TestIPerf2ClientOfOldServers(t *testing.T) {
	t.Parallel()
	const sent = 50
	for _, layout := range []iperf2.Layout{iperf2.Layout21, iperf2.Layout2013, iperf2.Layout2010, iperf2.Layout205} {
		l, err := lab.New(lab.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var c *net.UDPConn
		check(t, l.B().Do(func() (err error) {
			c, err = net.ListenUDP("udp", &net.UDPAddr{Port: 5001})
			return err
		}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			answers := iperf2.NewAnswers(&iperf2.Report{Bytes: 1000 * (sent - 1), Duration: time.Second, Lost: 2, Datagrams: sent + 1}, layout, 1<<20)
			echoed := false
			b := make([]byte, 2000)
			for {
				n, from, err := c.ReadFromUDP(b)
				if err != nil {
					return
				}
				answer := answers.To(b[:n])
				if answer != nil && !echoed {
					answer, echoed = b[:n], true
				}
				if answer != nil {
					_, _ = c.WriteToUDP(answer, from)
				}
			}
		}()
		reports, err := tryIPerf2(t, l, IPerf2Request{Send: plan.SendRequest{Path: "udp", Payload: 1000, Rate: mustRate(t, "5kpps"), Count: sent}})
		check(t, c.Close())
		<-done
		if err != nil || len(reports) != 1 {
			t.Errorf("layout %d: %d reports, %v", layout, len(reports), err)
			continue
		}
		if r := reports[0].Receiver; r.Lost != 2 || r.Unique != sent-2 || r.PayloadBytes != 1000*(sent-2) {
			t.Errorf("layout %d: %d bytes, %+v", layout, r.PayloadBytes, r.ArrivedPackets)
		}
	}
}

// A client stays until each of its FINs is answered: a stock server complains of one
// that does not.
func TestIPerf2ClientHearsEveryAnswer(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var server *net.UDPConn
	check(t, l.B().Do(func() (err error) {
		server, err = net.ListenUDP("udp", &net.UDPAddr{Port: 5001})
		return err
	}))
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- answerLate(server, finPerFlow) }()
	testIPerf2(t, l, IPerf2Request{Send: plan.SendRequest{Path: "udp", Payload: 1000, Rate: mustRate(t, "5kpps"), Count: 50}})
	if err := <-served; err != nil {
		t.Error(err)
	}
	var icmp []byte
	check(t, l.A().Do(func() (err error) {
		icmp, err = os.ReadFile("/proc/thread-self/net/snmp")
		return err
	}))
	if bytes.Contains(icmp, []byte("OutType3")) {
		t.Error("the client was gone: its host says that its port is unreachable")
	}
}

// answerLate answers so many FINs of a client, all but the first late.
func answerLate(server *net.UDPConn, fins int) error {
	answers := iperf2.NewAnswers(&iperf2.Report{Datagrams: 51}, iperf2.Layout21, 1<<20)
	b := make([]byte, 2000)
	for answered := 0; answered < fins; {
		n, from, err := server.ReadFromUDPAddrPort(b)
		if err != nil {
			return err
		}
		answer := answers.To(b[:n])
		if answer == nil {
			continue
		}
		if answered > 0 {
			time.Sleep(3 * finGap)
		}
		if _, err := server.WriteToUDPAddrPort(answer, from); err != nil {
			return err
		}
		answered++
	}
	return nil
}

// A group is received by whoever joined it, for one source if that was asked for,
// and nobody answers; the stock program sends and counts alike.
func TestIPerf2Multicast(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const ours = "239.1.2.3"
	for _, c := range []struct {
		group, source string
		heard         int // reports
	}{
		{ours, "", 1},
		{"232.1.2.3", l.A().Addr4.String(), 1},
		{"232.1.2.3", "10.77.0.9", 0},
		{"ff15::123", "", 1},
		{"ff35::123", l.A().Addr6.String(), 1},
	} {
		group := netip.MustParseAddr(c.group)
		var source netip.Addr
		if c.source != "" {
			source = netip.MustParseAddr(c.source)
		}
		end := serveIPerf2At(t, l.B(), netip.AddrPortFrom(group, 5001), l.B().Interface, source)
		reports := testIPerf2(t, l, IPerf2Request{Send: plan.SendRequest{
			Host: c.group, Path: "udp", Iface: l.A().Interface, TTL: 2, Payload: 500, Count: 60, Rate: mustRate(t, "2kpps"),
		}})
		came := end(c.heard)
		if len(reports) != 1 || reports[0].Sender.Packets != 60 || reports[0].Receiver != nil {
			t.Errorf("%+v: the sender's reports: %+v", c, reports)
		}
		switch {
		case len(came) != c.heard:
			t.Errorf("%+v: %d tests at the receiver", c, len(came))
		case c.heard == 0:
		case came[0].Receiver.Unique != 60 || came[0].Receiver.Lost != 0 || came[0].Receiver.LossIsLowerBound || came[0].Receiver.Duplicates != 0:
			t.Errorf("%+v: received %+v", c, came[0].Receiver.ArrivedPackets)
		}
	}
	end := serveIPerf2At(t, l.B(), netip.MustParseAddrPort(ours+":5001"), l.B().Interface, netip.Addr{})
	out := stockClientOf(t, l, ours+"%"+l.A().Interface, "-u -T 2 -b 4m -t 0.2 -B "+l.A().Addr4.String())
	came := end(1)
	if sent := numbers(t, `Sent (\d+) datagrams`, out)[0] - 2; len(came) != 1 || came[0].Receiver.Unique != sent || came[0].Receiver.Lost != 0 {
		t.Errorf("the stock client sent %d: %+v\n%s", sent, came, out)
	}
}

// Every datagram of a test has the TOS that was asked for, the first one and those
// that a server sends among them.
func TestIPerf2TOSOnTheWire(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, stop := capture(t, l)
	end := serveIPerf2(t, l.B())
	for _, c := range []struct {
		mode iperf2.Mode
		path string
	}{{iperf2.Reverse, "udp"}, {iperf2.FullDuplex, "packet"}} {
		testIPerf2(t, l, IPerf2Request{Mode: c.mode, Send: plan.SendRequest{
			Path: c.path, Payload: 500, Count: 50, Rate: mustRate(t, "2kpps"), TOS: 0xb8,
		}})
	}
	end(2)
	stop()
	for _, from := range []netip.Addr{l.A().Addr4, l.B().Addr4} {
		seen := map[string]int{}
		for _, field := range tshark(t, file, "udp.port==5001 && ip.src=="+from.String(), "ip.dsfield") {
			seen[field]++
		}
		if len(seen) != 1 || seen["0xb8"] < 50 {
			t.Errorf("TOS of what %v sent: %v", from, seen)
		}
	}
}

// Nobody gets data over UDP of a server that sends none, however it is asked for.
func TestIPerf2ReceiveOnly(t *testing.T) {
	t.Parallel()
	l, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var listener *IPerf2Listener
	check(t, l.B().Do(func() (err error) {
		listener, err = ListenIPerf2(t.Context(), netip.MustParseAddrPort("[::]:5001"), "", netip.Addr{}, 0)
		return err
	}))
	defer listener.Close()
	for _, mode := range []iperf2.Mode{iperf2.Reverse, iperf2.FullDuplex, iperf2.Dual, iperf2.Tradeoff} {
		request := scripted(iperf2.Layout21, 1)
		(&iperf2.Settings{Mode: mode, Flows: 1, Port: 5001, Duration: time.Second, Rate: 1_000_000}).PutUDP(request)
		var c net.Conn
		check(t, l.A().Do(func() (err error) {
			if c, err = net.Dial("udp", netip.AddrPortFrom(l.B().Addr4, 5001).String()); err == nil {
				_, err = c.Write(request)
			}
			return err
		}))
		var got collector
		err := l.B().Do(func() error {
			f, err := listener.Accept(context.Background())
			if err != nil {
				return err
			}
			return ServeIPerf2(context.Background(), f, IPerf2Options{Version: "test", ReceiveOnly: true}, &got)
		})
		if err == nil || !strings.Contains(err.Error(), ErrReceiveOnly.Error()) || len(got.reports) != 0 {
			t.Errorf("mode %d: %v, %d reports", mode, err, len(got.reports))
		}
		check(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		if n, err := c.Read(make([]byte, 2000)); err == nil {
			t.Errorf("mode %d: %d bytes came", mode, n)
		}
		c.Close()
	}
}
