package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshotSince(t *testing.T) {
	before := &Snapshot{
		UDP4:    &UDP{InDatagrams: 10, RcvbufErrors: 1},
		IP4:     &IP{FragFails: 3},
		Softnet: &Softnet{Dropped: 5, Squeezed: 7},
		Link:    &LinkStats{RxPackets: 100, RxMissed: 9},
	}
	after := &Snapshot{
		UDP4:    &UDP{InDatagrams: 15, RcvbufErrors: 4, NoPorts: 2},
		UDP6:    &UDP{InDatagrams: 1},
		IP4:     &IP{FragFails: 3},
		Softnet: &Softnet{Dropped: 6, Squeezed: 7},
		Link:    &LinkStats{RxPackets: 120, RxMissed: 8}, // the driver was reset
	}
	want := &Snapshot{
		UDP4:    &UDP{InDatagrams: 5, RcvbufErrors: 3, NoPorts: 2},
		IP4:     &IP{},
		Softnet: &Softnet{Dropped: 1},
	}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
