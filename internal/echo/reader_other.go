//go:build !linux

package echo

import "linerate/internal/linux"

// stamp has nothing to do: the time of reading serves.
func (r *reader) stamp() error { return nil }

// read waits for the next datagram.
func (r *reader) read() (arrival, error) {
	n, from, err := r.conn.ReadFromUDPAddrPort(r.buffer)
	return arrival{payload: r.buffer[:n], from: from, at: linux.Monotonic()}, err
}
