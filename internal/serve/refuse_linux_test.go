package serve

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
)

// What a server does not do, a stock client hears in its own words; one of 3.12
// has none for a time limit, and tells the number.
func TestRefusalsInStockClients(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 8, MaxDuration: 10 * time.Second, MaxRate: 100e6})
	for _, c := range []struct{ args, says string }{
		{"-t 11", "37"},
		{"-t 8 -O 3", "37"},
		{"-t 0", "37"},
		{"-u -b 101M", "total required bandwidth is larger than server limit"},
		{"-b 60M -P 2", "total required bandwidth is larger than server limit"},
		{"-b 60M --bidir", "total required bandwidth is larger than server limit"},
		{"-u -b 0 -n 1M", "total required bandwidth is larger than server limit"},
	} {
		out, err := h.client(strings.Fields("iperf3 -c " + h.at.Addr().String() + " " + c.args)...)
		if err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v, want %q:\n%s", c.args, err, c.says, out)
		}
		h.await("broken")
	}
	h.serves()
}

// What no client that means well asks for is refused by its code, and so are lengths
// that nobody means (BC-127).
func TestRefusals(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1})
	const udp = `"udp":true,"bandwidth":1000000,"time":1`
	for text, want := range map[string]iperf3.Code{
		`{"tcp":true,"time":1,"parallel":0}`:   iperf3.BadStreams,
		`{"tcp":true,"time":1,"parallel":129}`: iperf3.BadStreams,
		`{` + udp + `,"len":15}`:               iperf3.BadBlockUDP,
		`{` + udp + `,"len":65508}`:            iperf3.BadBlockUDP,
		`[]`:                                   iperf3.BadParams,
		`{`:                                    iperf3.BadParams,
		`"` + strings.Repeat("x", 65536) + `"`: iperf3.BadParams,
		strings.Repeat("[", 60000):             iperf3.BadParams,
		`{"tcp":true,"time":-1}`:               iperf3.BadDuration,
		`{"tcp":true,"time":1e300}`:            iperf3.BadDuration,
		`{"tcp":true,"reverse":true,"bidirectional":true}`: iperf3.ReverseAndBidir,
		`{"sctp":true}`:                                                      iperf3.BadProtocol,
		`{"tcp":true,"time":1,"linerate":7}`:                                 iperf3.BadParams,
		`{"tcp":true,"time":1,"linerate":{"interval_ns":1}}`:                 iperf3.BadParams,
		`{` + udp + `,"len":1000,"linerate":{"rate":"fast"},"reverse":true}`: iperf3.BadParams,
	} {
		v := h.enter()
		v.sayJSON(text)
		if state, err := v.control.ReadState(); state != iperf3.ServerError || err != nil {
			t.Errorf("%.60s: %v (%v)", text, state, err)
			v.leave()
			continue
		}
		if got, err := v.control.ReadServerError(); err != nil || got.Code != want {
			t.Errorf("%.60s: %v (%v), want %v", text, got, err, want)
		}
		v.leave()
	}
	for _, length := range []uint32{0, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		v := h.enter()
		v.sayLength(length)
		expect(t, v.control, iperf3.ServerError)
		v.leave()
	}
	h.settled(40)
}

// BC-140: a client of a later release asks for more than this server knows of, and is
// answered with this server's own version.
func TestLaterClient(t *testing.T) {
	h := newHouse(t, lab.Config{}, Config{MaxTests: 1, Version: "this"})
	v := h.enter()
	v.sayJSON(`{"tcp":true,"time":1,"parallel":1,"later":[1],"linerate":{"version":"later","later":{"a":1},"burst":1}}`)
	expect(t, v.control, iperf3.Extra)
	var g iperf3.Greeting
	if err := v.control.ReadExtra(&g); err != nil || g.Version != "this" || g.Receive == nil {
		t.Errorf("%+v (%v)", g, err)
	}
	expect(t, v.control, iperf3.CreateStreams)
	v.leave()
	h.await("broken")
}
