package iperf3

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// full has every field set.
func full(t testing.TB) Params {
	t.Helper()
	p := Params{
		TCP: true, UDP: true, SCTP: true, Omit: 1, ServerAffinity: 2, Time: 3, Num: 4, BlockCount: 5, MSS: 6,
		NoDelay: true, Parallel: 7, Reverse: true, Bidirectional: true, MPTCP: true, Window: 8, Len: 9,
		Bandwidth: 10, FQRate: 11, PacingTimer: 12, Burst: 13, GSO: true, GRO: true, GSOSize: 14,
		GSOBufferSize: 15, GROBufferSize: 16, TOS: 17, FlowLabel: 18, Title: "a", ExtraData: "b", Congestion: "c",
		CongestionUsed: "d", GetServerOutput: true, Counters64: true, Repeating: true, ZeroCopy: true,
		DontFragment: true, AuthToken: "e", SkipRxCopy: true, ClientVersion: "f", Extra: json.RawMessage(`{"g":1}`),
	}
	for i, v := 0, reflect.ValueOf(p); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("%s isn't set", v.Type().Field(i).Name)
		}
	}
	return p
}

const fullText = `{"tcp":true,"udp":true,"sctp":true,"omit":1,"server_affinity":2,"time":3,"num":4,"blockcount":5,"MSS":6,` +
	`"nodelay":true,"parallel":7,"reverse":true,"bidirectional":true,"mptcp":true,"window":8,"len":9,"bandwidth":10,` +
	`"fqrate":11,"pacing_timer":12,"burst":13,"gso":1,"gro":1,"gso_dg_size":14,"gso_bf_size":15,"gro_bf_size":16,` +
	`"TOS":17,"flowlabel":18,"title":"a","extra_data":"b","congestion":"c","congestion_used":"d",` +
	`"get_server_output":1,"udp_counters_64bit":1,"repeating_payload":1,"zerocopy":1,"dont_fragment":1,` +
	`"authtoken":"e","skip_rx_copy":1,"client_version":"f","linerate":{"g":1}}`

func TestParamsHaveEveryKey(t *testing.T) {
	want := full(t)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullText, string(text)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	want.Time = 0 // there is an amount
	for _, text := range []string{fullText, strings.ToUpper(fullText[:strings.Index(fullText, `,"title`)]) +
		fullText[strings.Index(fullText, `,"title`):]} {
		text = strings.ReplaceAll(text, "TRUE", "true")
		var got Params
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	}
}

func TestParamsLeaveOutWhatIsZero(t *testing.T) {
	text, err := json.Marshal(Params{UDP: true, Num: -1})
	want := `{"udp":true,"omit":0,"time":0,"num":-1,"blockcount":0,"parallel":0}`
	if err != nil || string(text) != want {
		t.Errorf("got %s (%v), want %s", text, err, want)
	}
}

// BC-140: keys of another release are passed over.
func TestParamsAreReadTolerantly(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Params
	}{
		"the least":                 {`{"udp":true,"len":100}`, Params{UDP: true, Len: 100, Parallel: 1, Time: 10}},
		"nothing":                   {`{}`, Params{Parallel: 1, Time: 10}},
		"zero given":                {`{"parallel":0,"time":0}`, Params{}},
		"an amount, no time":        {`{"num":5}`, Params{Num: 5, Parallel: 1}},
		"presence is enough":        {`{"udp":false,"reverse":null,"nodelay":0}`, Params{UDP: true, Reverse: true, NoDelay: true, Parallel: 1, Time: 10}},
		"flags are numbers":         {`{"zerocopy":0,"dont_fragment":2,"udp_counters_64bit":true,"gso":false}`, Params{DontFragment: true, Counters64: true, Parallel: 1, Time: 10}},
		"wrong types are left out":  {`{"len":"100","time":[],"parallel":{},"title":5,"bandwidth":null}`, Params{Parallel: 1, Time: 10}},
		"the first of equals":       {`{"Len":1,"LEN":2,"len":3}`, Params{Len: 1, Parallel: 1, Time: 10}},
		"unknown keys, deep":        {`{"x":{"len":[{"len":7}]},"len":8}`, Params{Len: 8, Parallel: 1, Time: 10}},
		"unsigned minus one":        {`{"len":18446744073709551615,"time":1e1}`, Params{Len: -1, Parallel: 1, Time: 10}},
		"white space":               {" { \"len\" :\t5.0 }\n", Params{Len: 5, Parallel: 1, Time: 10}},
		"extra of another linerate": {`{"linerate":{"v":[1, 2]}}`, Params{Extra: json.RawMessage(`{"v":[1, 2]}`), Parallel: 1, Time: 10}},
	} {
		var got Params
		if err := json.Unmarshal([]byte(c.text), &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatAreNoParams(t *testing.T) {
	for _, text := range []string{``, `5`, `"udp"`, `[]`, `{"len":}`, `{"len":1`, `{"len":1}}`, `{,}`, "{\"a\":\"\x01\"}",
		strings.Repeat(`{"a":`, 20000)} {
		var p Params
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%.20s was read as %+v", text, p)
		}
	}
}

func FuzzParams(f *testing.F) {
	f.Add([]byte(fullText))
	f.Add([]byte(`{"udp":false,"len":18446744073709551615,"time":1e3}`))
	f.Add([]byte(`{"Len":1,"LEN":"x","x":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p, again Params
		if json.Unmarshal(text, &p) != nil {
			return
		}
		p.Check(Limits{Rate: 1e9, Duration: 1e12})
		out, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatal(err)
		}
		p.Extra, again.Extra = nil, nil // may be written more compactly
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%s (-read +read again):\n%s", out, diff)
		}
	})
}
