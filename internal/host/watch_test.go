package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChanges(t *testing.T) {
	up, down := linkState{true, 1500}, linkState{false, 1500}
	for _, tt := range []struct {
		name     string
		from, to linkState
		want     []Event
	}{
		{"nothing", up, up, nil},
		{"down", up, down, []Event{{Change: Down}}},
		{"up", down, up, []Event{{Change: Up}}},
		{"MTU", up, linkState{true, 9000}, []Event{{Change: MTUChanged, OldMTU: 1500, NewMTU: 9000}}},
		{"MTU and down", up, linkState{false, 1400}, []Event{{Change: MTUChanged, OldMTU: 1500, NewMTU: 1400}, {Change: Down}}},
	} {
		if diff := cmp.Diff(tt.want, tt.from.changes(tt.to, time.Time{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEventsInWords(t *testing.T) {
	for want, e := range map[string]Event{
		"went down":                         {Change: Down},
		"came up":                           {Change: Up},
		"changed its MTU from 9000 to 1500": {Change: MTUChanged, OldMTU: 9000, NewMTU: 1500},
		"was removed":                       {Change: Deleted},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
