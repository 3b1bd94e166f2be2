package iperf3

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

func TestStockServerTakesOurTCP(t *testing.T) {
	l := newLab(t)
	server, out := stock(t, l.B(), nil, "-s", "-1", "-4")
	c, cookie := dial(t, l)
	must(t, c.WriteParams(&Params{TCP: true, Time: 5, Parallel: 1, Len: DefaultBlockTCP}))
	expect(t, c, CreateStreams)
	connect := func() (data net.Conn) {
		must(t, l.A().Do(func() (err error) {
			data, err = net.Dial("tcp", netip.AddrPortFrom(l.B().Addr4, Port).String())
			return err
		}))
		t.Cleanup(func() { data.Close() })
		return data
	}
	stranger := NewConn(connect())
	stranger.Patience = patient
	must(t, stranger.WriteCookie(NewCookie()))
	expect(t, stranger, AccessDenied)
	data := connect()
	must(t, NewConn(data).WriteCookie(cookie))
	expect(t, c, TestStart)
	expect(t, c, TestRunning)
	_, err := data.Write(make([]byte, DefaultBlockTCP))
	must(t, err)
	time.Sleep(300 * time.Millisecond) // a stock server doesn't drain
	must(t, c.WriteState(TestEnd))
	expect(t, c, ExchangeResults)
	must(t, c.WriteResults(&Results{Streams: []StreamResult{{ID: 1, Bytes: DefaultBlockTCP, Retransmits: 0, EndTime: 0.3}}}))
	got, err := c.ReadResults()
	must(t, err)
	if len(got.Streams) != 1 || got.Streams[0].Bytes != DefaultBlockTCP || got.CongestionUsed == "" {
		t.Errorf("%+v", got)
	}
	expect(t, c, DisplayResults)
	must(t, c.WriteState(IperfDone))
	must(t, c.HangUp(20*time.Second))
	if err := server.Wait(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestStockClientSendsOverOurTCP(t *testing.T) {
	l := newLab(t)
	tcp, _ := listen5201(t, l)
	const amount = 64 << 10 // fits into socket buffers, and is read at the end
	client, out := stock(t, l.A(), nil, "-c", l.B().Addr4.String(), "-n", "64K", "-l", "16K", "-P", "2")
	c, cookie := accept(t, tcp)
	p := askParams(t, c)
	if !p.TCP || p.Num != amount || p.Len != 16<<10 || p.Parallel != 2 || p.Check(Limits{}) != None {
		t.Errorf("%+v", p)
	}
	must(t, c.WriteState(CreateStreams))
	results := &Results{SenderHasRetransmits: -1}
	var data [2]*Conn
	for i := range data {
		var same Cookie
		if data[i], same = accept(t, tcp); same != cookie {
			t.Fatalf("%q instead of %q", same, cookie)
		}
		results.Streams = append(results.Streams, StreamResult{ID: StreamID(i), Retransmits: -1, EndTime: 1})
	}
	must(t, c.WriteState(TestStart))
	must(t, c.WriteState(TestRunning))
	expect(t, c, TestEnd)
	must(t, c.WriteState(ExchangeResults))
	sent, err := c.ReadResults()
	must(t, err)
	for i, s := range sent.Streams {
		data[i].conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, err := io.Copy(io.Discard, io.LimitReader(data[i].conn, s.Bytes))
		if err != nil || n != s.Bytes || s.ID != results.Streams[i].ID {
			t.Errorf("%d bytes of %+v came, %v", n, s, err)
		}
		results.Streams[i].Bytes = n
	}
	must(t, c.WriteResults(results))
	must(t, c.WriteState(DisplayResults))
	expect(t, c, IperfDone)
	must(t, c.HangUp(20*time.Second))
	if err := client.Wait(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if total := results.Streams[0].Bytes + results.Streams[1].Bytes; total < amount {
		t.Errorf("%d bytes came, of %d", total, amount)
	}
}
