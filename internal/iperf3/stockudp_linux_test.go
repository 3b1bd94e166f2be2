package iperf3

import (
	"encoding/json"
	"net"
	"net/netip"
	"testing"
	"time"

	"linerate/internal/iperf3/iperf3test"
)

// The whole conversation as a client, with a stream that drops, doubles and
// reorders: the server's verdict is the predicted one.
func TestStockServerJudgesAsPredicted(t *testing.T) {
	for name, counters64 := range map[string]bool{"32 bits": false, "64 bits": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			server, out := stock(t, l.B(), nil, "-s", "-1", "-4")
			c, _ := dial(t, l)
			const size = 100
			must(t, c.WriteParams(&Params{UDP: true, Time: 5, Parallel: 1, Len: size, Counters64: counters64,
				ClientVersion: "3.12", Extra: json.RawMessage(`{"a":[1]}`)}))
			expect(t, c, CreateStreams)
			var data net.Conn
			must(t, l.A().Do(func() (err error) {
				data, err = net.Dial("udp", netip.AddrPortFrom(l.B().Addr4, Port).String())
				return err
			}))
			defer data.Close()
			data.Write([]byte(Hello))
			var reply [100]byte
			data.SetReadDeadline(time.Now().Add(20 * time.Second))
			n, err := data.Read(reply[:])
			if err != nil || !IsReply(reply[:n]) {
				t.Fatalf("reply % x, %v", reply[:n], err)
			}
			// A repeated hello, 20 datagrams with 6 missing, a late one and
			// copies, which take back 3 of the 6.
			var want iperf3test.Verdict
			numbers := []int64{0, 1, 2, 4, 3, 5, 8, 8, 8, 9, 10, 15, 16, 17, 18, 19, 17, 20, 21, 22}
			expect(t, c, TestStart)
			expect(t, c, TestRunning)
			for _, number := range numbers {
				b := PaddedHello(size, time.Minute)
				last := 11 // of the number's bytes
				if counters64 {
					last = 15
				}
				b[last] = byte(number)
				if _, err := data.Write(b); err != nil {
					t.Fatal(err)
				}
				want.Arrive(number)
			}
			time.Sleep(300 * time.Millisecond) // a stock server doesn't drain
			must(t, c.WriteState(TestEnd))
			expect(t, c, ExchangeResults)
			must(t, c.WriteResults(&Results{Streams: []StreamResult{{ID: StreamID(0), Bytes: 20 * size, Retransmits: -1, Packets: 22, EndTime: 1}}}))
			got, err := c.ReadResults()
			must(t, err)
			expect(t, c, DisplayResults)
			must(t, c.WriteState(IperfDone))
			must(t, c.HangUp(20*time.Second))
			if err := server.Wait(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if len(got.Streams) != 1 || got.SenderHasRetransmits != -1 {
				t.Fatalf("%+v", got)
			}
			s := got.Streams[0]
			if s.ID != 1 || s.Bytes != int64(len(numbers))*size || s.Packets != want.Packets || s.Errors != want.Lost || want.Lost != 3 {
				t.Errorf("the server says %+v, predicted was %+v", s, want)
			}
		})
	}
}

// The whole conversation as a server: the client prints what it was told.
func TestStockClientPrintsOurNumbers(t *testing.T) {
	l := newLab(t)
	tcp, udp := listen5201(t, l)
	client, out := stock(t, l.A(), nil, "-c", l.B().Addr4.String(), "-u", "-l", "100", "-k", "20", "-b", "1M", "-J")
	c, _ := accept(t, tcp)
	p := askParams(t, c)
	if !p.UDP || p.Len != 100 || p.BlockCount != 20 || p.Time != 0 || p.Bandwidth != 1e6 || p.Parallel != 1 || p.Check(Limits{}) != None {
		t.Errorf("%+v", p)
	}
	must(t, c.WriteState(CreateStreams))
	var b [1500]byte
	udp.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, peer, err := udp.ReadFrom(b[:])
	if err != nil || !IsHello(b[:n], false) {
		t.Fatalf("hello % x, %v", b[:n], err)
	}
	_, err = udp.WriteTo([]byte(Reply), peer)
	must(t, err)
	must(t, c.WriteState(TestStart))
	must(t, c.WriteState(TestRunning))
	for range 20 {
		if n, _, err := udp.ReadFrom(b[:]); err != nil || n != 100 || IsHello(b[:n], false) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	expect(t, c, TestEnd)
	must(t, c.WriteState(ExchangeResults))
	sent, err := c.ReadResults()
	must(t, err)
	if len(sent.Streams) != 1 || sent.Streams[0].Packets != 20 || sent.Streams[0].Bytes != 2000 {
		t.Errorf("%+v", sent)
	}
	must(t, c.WriteResults(&Results{SenderHasRetransmits: -1, Streams: []StreamResult{
		{ID: StreamID(0), Bytes: 1700, Retransmits: -1, Jitter: 0.002, Errors: 3, Packets: 20, EndTime: 0.5}},
		Extra: json.RawMessage(`{"a":[1]}`)}))
	must(t, c.WriteState(DisplayResults))
	expect(t, c, IperfDone)
	must(t, c.HangUp(20*time.Second))
	if err := client.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var report struct {
		End struct {
			Sum struct {
				Lost    int     `json:"lost_packets"`
				Packets int     `json:"packets"`
				Jitter  float64 `json:"jitter_ms"`
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || report.End.Sum.Lost != 3 || report.End.Sum.Packets != 20 || report.End.Sum.Jitter != 2 {
		t.Errorf("%v, %+v in %s", err, report, out)
	}
}
