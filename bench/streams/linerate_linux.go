package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"linerate/internal/probe"
	"linerate/internal/tcp"
)

// ours is this program again, as either end.
func ours(name, sender, receiver string) *pair {
	end := func(what string) func(string, int) *exec.Cmd {
		return func(_ string, streams int) *exec.Cmd {
			return exec.Command("/proc/self/exe", "-end", what, "-streams", strconv.Itoa(streams))
		}
	}
	return &pair{
		name: name, receiver: end(receiver), sender: end(sender),
		arrived: func(received, sent []byte) (float64, error) {
			if string(received) != string(sent) {
				return 0, fmt.Errorf("sent %s and received %s bytes", sent, received)
			}
			return strconv.ParseFloat(strings.TrimSpace(string(received)), 64)
		},
	}
}

// server is host b of a lab.
var server = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 77, 0, 2}), port)

// serve is one end of a pair: it prints how many bytes went by.
func serve(end string, streams int) error {
	ctx := context.Background()
	pattern, err := probe.ParsePattern("random")
	if err != nil {
		return err
	}
	next := dial
	run := func(c *net.TCPConn) (uint64, error) {
		return send(ctx, &tcp.Sender{Conn: c, Pattern: pattern, Duration: duration, ZeroCopy: end == "sendfile"})
	}
	if end == "receive" || end == "verify" {
		l, err := tcp.Listen(ctx, server, tcp.Options{})
		if err != nil {
			return err
		}
		defer l.Close()
		next = func(context.Context) (*net.TCPConn, error) { return l.AcceptTCP() }
		run = func(c *net.TCPConn) (uint64, error) {
			r := &tcp.Receiver{Conn: c}
			if end == "verify" {
				r.Verify = &pattern
			}
			return receive(ctx, r)
		}
	}
	var conns []*net.TCPConn
	for range streams {
		c, err := next(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		conns = append(conns, c)
	}
	var total atomic.Uint64
	failed := make(chan error, streams)
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			n, err := run(c)
			total.Add(n)
			failed <- err
		})
	}
	wg.Wait()
	for range streams {
		if err := <-failed; err != nil {
			return err
		}
	}
	fmt.Println(total.Load())
	return nil
}

func dial(ctx context.Context) (*net.TCPConn, error) {
	c, _, err := tcp.Dial(ctx, netip.AddrPort{}, server, tcp.Options{})
	return c, err
}

func send(ctx context.Context, s *tcp.Sender) (uint64, error) {
	if err := s.Run(ctx); err != nil {
		return 0, err
	}
	return s.Sent(), s.Conn.CloseWrite()
}

func receive(ctx context.Context, r *tcp.Receiver) (uint64, error) {
	_, err := r.Run(ctx)
	if r.Corrupt() > 0 {
		return 0, fmt.Errorf("%d corrupt bytes", r.Corrupt())
	}
	return r.Received(), err
}
