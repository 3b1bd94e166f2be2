package rx

import (
	"fmt"
	"time"

	"linerate/internal/linux"
)

// batch is how many messages are taken at once: enough to share the cost of the
// system call, few enough to stay in the cache.
const batch = 64

// A messageQueue reads a socket in batches.
type messageQueue struct {
	msgs   *linux.RecvBatch
	waiter waiter
}

// newMessageQueue makes a queue that captures at least size bytes of a message.
func newMessageQueue(size int) messageQueue {
	const cacheLine = 64
	return messageQueue{msgs: linux.NewRecvBatch(batch, (size+cacheLine-1)&^(cacheLine-1))}
}

// fetch takes the next batch, waiting for it no longer than until, and returns
// how many messages it has.
func (q *messageQueue) fetch(fd int, until time.Time) (int, error) {
	for {
		n, err := q.msgs.Recv(fd)
		if err != nil {
			return 0, fmt.Errorf("recvmmsg: %w", err)
		}
		if n > 0 {
			return n, nil
		}
		if ready, err := q.waiter.wait(fd, until); !ready {
			return 0, err
		}
	}
}
