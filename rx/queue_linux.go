package rx

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/linux"
)

// batch is how many messages are taken at once: enough to share the cost of the
// system call, few enough to stay in the cache.
const batch = 64

// A messageQueue reads sockets in batches.
type messageQueue struct {
	msgs   *linux.RecvBatch
	waiter waiter
	turn   int // of the sockets, the one that is read next
	read   int // the one that the batch is of
}

// newMessageQueue makes a queue that captures at least size bytes of a message.
func newMessageQueue(size int) messageQueue {
	const cacheLine = 64
	return messageQueue{msgs: linux.NewRecvBatch(batch, (size+cacheLine-1)&^(cacheLine-1))}
}

// fetch takes the next batch, waiting for it no longer than until, and returns
// how many messages it has. All are of one socket; the next batch is another's if
// that has any, so that a busy one does not starve the others.
func (q *messageQueue) fetch(fds []int, until time.Time) (int, error) {
	for {
		for range fds {
			q.read = q.turn
			n, err := q.msgs.Recv(fds[q.read])
			q.turn = (q.turn + 1) % len(fds)
			if err != nil && err != unix.ECONNREFUSED { // of what left by a shared socket
				return 0, fmt.Errorf("recvmmsg: %w", err)
			}
			if n > 0 {
				return n, nil
			}
		}
		if ready, err := q.waiter.wait(fds, until); !ready {
			return 0, err
		}
	}
}
