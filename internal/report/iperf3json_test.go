package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/result"
)

// A key is the path of a value in a tree, without the places in arrays, and the
// value's type.
type key struct{ Path, Type string }

// keysOf lists the keys of a JSON text in their order, each once.
func keysOf(t *testing.T, text []byte) []key {
	t.Helper()
	var keys []key
	d := json.NewDecoder(bytes.NewReader(text))
	add := func(k key) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	var walk func(path string)
	walk = func(path string) {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		if token != json.Delim('{') && token != json.Delim('[') {
			add(key{path, fmt.Sprintf("%T", token)})
			return
		}
		add(key{path, fmt.Sprint(token)})
		for d.More() {
			next := path
			if token == json.Delim('{') {
				name, err := d.Token()
				if err != nil {
					t.Fatal(err)
				}
				next = path + "." + name.(string)
			}
			walk(next)
		}
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
	}
	walk("")
	return keys
}

// jsonSamples are the trees of stock iperf3 that testdata holds.
var jsonSamples = []struct {
	file   string
	test   sampled
	server bool
}{
	{"tcp-fwd-client", sampled{protocol: "tcp", direction: "forward", parallel: 1}, false},
	{"tcp-fwd-server", sampled{protocol: "tcp", direction: "forward", parallel: 1}, true},
	{"tcp-rev-client", sampled{protocol: "tcp", direction: "reverse", parallel: 1}, false},
	{"tcp-rev-server", sampled{protocol: "tcp", direction: "reverse", parallel: 1}, true},
	{"tcp-bidir-client", sampled{protocol: "tcp", direction: "bidir", parallel: 1}, false},
	{"tcp-bidir-server", sampled{protocol: "tcp", direction: "bidir", parallel: 1}, true},
	{"udp-fwd-client", sampled{protocol: "udp", direction: "forward", parallel: 1}, false},
	{"udp-fwd-client-3.21plus", sampled{protocol: "udp", direction: "forward", parallel: 1}, false},
	{"udp-fwd-P2-client", sampled{protocol: "udp", direction: "forward", parallel: 2}, false},
	{"udp-fwd-omit-client", sampled{protocol: "udp", direction: "forward", parallel: 1, omit: 1}, false},
	{"udp-fwd-server", sampled{protocol: "udp", direction: "forward", parallel: 1}, true},
	{"udp-rev-client", sampled{protocol: "udp", direction: "reverse", parallel: 1}, false},
	{"udp-rev-server", sampled{protocol: "udp", direction: "reverse", parallel: 1}, true},
	{"udp-bidir-client", sampled{protocol: "udp", direction: "bidir", parallel: 1}, false},
	{"udp-bidir-server", sampled{protocol: "udp", direction: "bidir", parallel: 1}, true},
}

func stockJSON(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/iperf3/json-" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tree is the JSON of a test at one end.
func (s sampled) tree(t *testing.T, server bool) []byte {
	t.Helper()
	s.counts, s.step = []uint64{173, 173}, 1
	var b bytes.Buffer
	if err := IPerf3JSON(&b, s.report(server), s.facts(server)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestIPerf3JSONHasEveryKeyOfStock(t *testing.T) {
	for _, s := range jsonSamples {
		t.Run(s.file, func(t *testing.T) {
			ours := keysOf(t, s.test.tree(t, s.server))
			last := -1
			for _, k := range keysOf(t, stockJSON(t, s.file+".json")) {
				at := slices.Index(ours, k)
				switch {
				case at < 0:
					t.Errorf("%s (%s) is missing", k.Path, k.Type)
				case !s.server && at < last: // stock's servers tell some keys early and again in their place
					t.Errorf("%s is not in its place", k.Path)
				}
				last = at
			}
		})
	}
}

func TestIPerf3JSONIsSetLikeStock(t *testing.T) {
	for _, s := range jsonSamples {
		stock := stockJSON(t, s.file+".json")
		var compact bytes.Buffer
		if err := json.Compact(&compact, stock); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSpace(string(stock)), string(tabbed(compact.Bytes()))); diff != "" {
			t.Errorf("%s (-stock +ours):\n%s", s.file, diff)
		}
	}
}

// FuzzTabbed checks that setting JSON changes nothing but blanks.
func FuzzTabbed(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":"\"{,"},{}],"c":[]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var before, after bytes.Buffer
		if json.Compact(&before, in) != nil {
			return
		}
		if err := json.Compact(&after, tabbed(before.Bytes())); err != nil {
			t.Fatal(err)
		}
		if before.String() != after.String() {
			t.Errorf("%q became %q", &before, &after)
		}
	})
}

func TestIPerf3JSONStream(t *testing.T) {
	s := sampled{protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{87}, step: 1}
	r, f := s.report(false), s.facts(false)
	var b bytes.Buffer
	for _, err := range []error{
		IPerf3StreamStart(&b, r, f), IPerf3StreamInterval(&b, r, f, &r.Intervals[0]), IPerf3StreamEnd(&b, r, f),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ours := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
	stock := bytes.Split(bytes.TrimSpace(stockJSON(t, "stream-udp-fwd-client-3.21plus.ndjson")), []byte("\n"))
	if len(ours) != len(stock) {
		t.Fatalf("%d lines, want %d", len(ours), len(stock))
	}
	for i := range stock {
		if diff := cmp.Diff(keysOf(t, stock[i]), keysOf(t, ours[i])); diff != "" {
			t.Errorf("line %d (-stock +ours):\n%s", i+1, diff)
		}
	}
}

func TestIPerf3JSONOfAServersOutput(t *testing.T) {
	s := sampled{protocol: "udp", direction: "forward", parallel: 1, counts: []uint64{87}, step: 1}
	r, f := s.report(false), s.facts(false)
	f.Title, f.ExtraData, r.ServerJSON, r.Error = "ttl", "x <&>", s.tree(t, true), "broken off"
	var b bytes.Buffer
	if err := IPerf3JSON(&b, r, f); err != nil {
		t.Fatal(err)
	}
	var tree struct {
		Title  string          `json:"title"`
		Extra  string          `json:"extra_data"`
		Server json.RawMessage `json:"server_output_json"`
		Error  string          `json:"error"`
	}
	if err := json.Unmarshal(b.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	if tree.Title != f.Title || tree.Extra != f.ExtraData || tree.Error != r.Error {
		t.Errorf("%+v", tree)
	}
	if diff := cmp.Diff(keysOf(t, r.ServerJSON), keysOf(t, tree.Server)); diff != "" {
		t.Errorf("the server's output (-its own +ours):\n%s", diff)
	}
}

// The other end of a linerate test may have had a part in an interval more.
func TestIPerf3LeavesOutWhatTheOtherEndSaw(t *testing.T) {
	r := &result.Report{
		Config:  &result.Config{Protocol: "tcp", Peer: "linerate", Direction: "forward", Flows: 1},
		Streams: []result.Stream{{ID: 1, Local: "10.0.0.1:1", Remote: "10.0.0.2:2", Sender: true}},
		Intervals: []result.Interval{
			{EndS: 1, Sender: &result.SenderInterval{PayloadBytes: 5, Seconds: 1}},
			{StartS: 1, EndS: 1.1, Receiver: &result.ReceiverInterval{PayloadBytes: 5, Seconds: 0.1}},
		},
	}
	f := sampled{protocol: "tcp", direction: "forward", parallel: 1}.facts(false)
	var text, object, stream bytes.Buffer
	rows := NewIPerf3Text(&text, IPerf3Style{}, f)
	for i := range r.Intervals {
		if err := errors.Join(rows.Interval(r, &r.Intervals[i]), IPerf3StreamInterval(&stream, r, f, &r.Intervals[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := IPerf3JSON(&object, r, f); err != nil {
		t.Fatal(err)
	}
	var tree struct{ Intervals []any }
	if err := json.Unmarshal(object.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	if text, lines := strings.Count(text.String(), " sec "), strings.Count(stream.String(), "\n"); text != 1 || lines != 1 || len(tree.Intervals) != 1 {
		t.Errorf("%d rows of text, %d lines, %d intervals, want one each", text, lines, len(tree.Intervals))
	}
}

func TestIPerf3JSONOfNoTest(t *testing.T) {
	var b bytes.Buffer
	f := sampled{}.facts(false)
	if err := IPerf3JSON(&b, &result.Report{Error: "unable to connect to server: Connection refused"}, f); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(stockJSON(t, "error-refused-3.12.json")), b.String()); diff != "" {
		t.Errorf("(-stock +ours):\n%s", diff)
	}
}

// exported is what the Prometheus iperf3_exporter reads, as floats whatever they
// are. What is missing it takes for 0.
type exported struct {
	End struct {
		SumSent     sumExported `json:"sum_sent"`
		SumReceived sumExported `json:"sum_received"`
	} `json:"end"`
}

type sumExported struct {
	Seconds       float64 `json:"seconds"`
	Bytes         float64 `json:"bytes"`
	BitsPerSecond float64 `json:"bits_per_second"`
	Retransmits   float64 `json:"retransmits"`
}

func TestIPerf3JSONFeedsTheExporter(t *testing.T) {
	const tcpBytes, udpBytes = 2 * 346 << 10, 2 * 346 * 1448
	for protocol, bytes := range map[string]float64{"tcp": tcpBytes, "udp": udpBytes} {
		var got exported
		if err := json.Unmarshal(sampled{protocol: protocol, direction: "forward", parallel: 2}.tree(t, false), &got); err != nil {
			t.Fatal(err)
		}
		want := sumExported{Seconds: 2, Bytes: bytes, BitsPerSecond: 4 * bytes}
		if got.End.SumSent != want || got.End.SumReceived != want {
			t.Errorf("%s: %+v, want twice %+v", protocol, got.End, want)
		}
	}
}

// python is what the Python wrapper iperf3 reads of every test, then of TCP, then
// of UDP; a key that is missing breaks it.
var python = map[string]string{
	"": `start.timestamp.time start.timestamp.timesecs start.system_info start.version
start.connected.local_host start.connected.local_port start.connected.remote_host start.connected.remote_port
start.connecting_to.host start.connecting_to.port
start.test_start.protocol start.test_start.num_streams start.test_start.blksize start.test_start.omit
start.test_start.duration start.test_start.reverse
end.cpu_utilization_percent.host_total end.cpu_utilization_percent.host_user end.cpu_utilization_percent.host_system
end.cpu_utilization_percent.remote_total end.cpu_utilization_percent.remote_user end.cpu_utilization_percent.remote_system`,
	"tcp": `start.tcp_mss_default end.sum_sent.bytes end.sum_sent.bits_per_second end.sum_sent.retransmits
end.sum_received.bytes end.sum_received.bits_per_second`,
	"udp": `end.sum.bytes end.sum.bits_per_second end.sum.jitter_ms end.sum.lost_packets end.sum.packets
end.sum.lost_percent end.sum.seconds`,
}

func TestIPerf3JSONFeedsThePythonWrapper(t *testing.T) {
	for _, protocol := range []string{"tcp", "udp"} {
		for _, direction := range []string{"forward", "reverse"} {
			var paths []string
			for _, k := range keysOf(t, sampled{protocol: protocol, direction: direction, parallel: 2}.tree(t, false)) {
				paths = append(paths, strings.TrimPrefix(k.Path, "."))
			}
			for _, want := range strings.Fields(python[""] + "\n" + python[protocol]) {
				if !slices.Contains(paths, want) {
					t.Errorf("%s %s: %s is missing", protocol, direction, want)
				}
			}
			if slices.Contains(paths, "error") {
				t.Errorf("%s %s: an error", protocol, direction)
			}
		}
	}
}
