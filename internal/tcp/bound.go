package tcp

import (
	"context"
	"time"
)

// bound lets what blocks on a connection end at a deadline, zero for none, and
// when ctx ends. release takes both off again.
func bound(ctx context.Context, set func(time.Time) error, deadline time.Time) (release func()) {
	_ = set(deadline) // fails on a closed connection alone, as does what follows
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = set(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-done
		}
		_ = set(time.Time{})
	}
}
