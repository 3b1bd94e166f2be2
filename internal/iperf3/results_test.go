package iperf3

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func someResults() Results {
	return Results{
		CPUTotal: 3.5, CPUUser: 1.25, CPUSystem: 2.25, SenderHasRetransmits: -1, CongestionUsed: "cubic",
		ServerOutputText: "iperf Done.\n", ServerOutputJSON: json.RawMessage(`{"start":{}}`),
		Streams: []StreamResult{{
			ID: 1, Bytes: 1 << 40, Retransmits: -1, Jitter: 1.8e-05, Errors: 7, OmittedErrors: 2, Packets: 1 << 33,
			OmittedPackets: 3, StartTime: 0, EndTime: 10.000105,
		}},
		Extra: json.RawMessage(`{"a":1}`),
	}
}

const someResultsText = `{"cpu_util_total":3.5,"cpu_util_user":1.25,"cpu_util_system":2.25,"sender_has_retransmits":-1,` +
	`"congestion_used":"cubic","server_output_text":"iperf Done.\n","server_output_json":{"start":{}},` +
	`"streams":[{"id":1,"bytes":1099511627776,"retransmits":-1,"jitter":0.000018,"errors":7,"omitted_errors":2,` +
	`"packets":8589934592,"omitted_packets":3,"start_time":0,"end_time":10.000105}],"linerate":{"a":1}}`

func TestResultsHaveEveryKey(t *testing.T) {
	text, err := json.Marshal(someResults())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someResultsText, string(text)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	var got Results
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someResults(), got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestResultsAlwaysSayWhatWasOmitted(t *testing.T) {
	text, err := json.Marshal(Results{Streams: []StreamResult{{ID: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"omitted_errors":0`, `"omitted_packets":0`, `"start_time":0`, `"cpu_util_total":0`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s isn't in %s", want, text)
		}
	}
	if text, err = json.Marshal(Results{}); err != nil || !strings.HasSuffix(string(text), `"streams":[]}`) {
		t.Errorf("without streams: %s (%v)", text, err)
	}
}

func TestResultsNameTheKeyThatIsMissing(t *testing.T) {
	for _, key := range []string{"cpu_util_total", "cpu_util_user", "cpu_util_system", "sender_has_retransmits", "streams",
		"id", "bytes", "retransmits", "jitter", "errors", "packets"} {
		for what, text := range map[string]string{
			"is missing": strings.Replace(someResultsText, `"`+key+`":`, `"other":`, 1),
			"not a":      strings.Replace(someResultsText, `"`+key+`":`, `"`+key+`":"x","other":`, 1),
		} {
			err := json.Unmarshal([]byte(text), &Results{})
			if err == nil || !strings.Contains(err.Error(), `"`+key+`"`) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s %s: %v", key, what, err)
			}
		}
	}
}

func TestResultsDoWithoutTheRest(t *testing.T) {
	text := someResultsText
	for _, key := range []string{"congestion_used", "server_output_text", "server_output_json", "omitted_errors",
		"omitted_packets", "start_time", "end_time", "linerate"} {
		text = strings.Replace(text, `"`+key+`":`, `"other":`, 1)
	}
	var got Results
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := someResults()
	want.CongestionUsed, want.ServerOutputText, want.ServerOutputJSON, want.Extra = "", "", nil, nil
	want.Streams[0].OmittedErrors, want.Streams[0].OmittedPackets, want.Streams[0].EndTime = 0, 0, 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestResultsRefuseWhatJSONCannotHold(t *testing.T) {
	for name, r := range map[string]Results{
		"cpu_util_user": {CPUUser: math.NaN()},
		"jitter":        {Streams: []StreamResult{{Jitter: math.Inf(1)}}},
	} {
		if text, err := json.Marshal(r); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(someResultsText))
	for _, file := range []string{"udp-forward", "udp-bidir-64bit", "tcp-forward"} {
		for _, said := range samples(f, "testdata/hexdump-"+file+".txt") {
			if i := strings.Index(string(said.bytes), `{"cpu`); i >= 0 {
				f.Add(said.bytes[i : strings.LastIndexByte(string(said.bytes), '}')+1])
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r, again Results
		if json.Unmarshal(text, &r) != nil {
			return
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatal(err)
		}
		r.Extra, again.Extra, r.ServerOutputJSON, again.ServerOutputJSON = nil, nil, nil, nil
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("%s (-read +read again):\n%s", out, diff)
		}
	})
}
