package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"linerate/internal/iperf2"
	"linerate/internal/plan"
	"linerate/internal/result"
)

const (
	// finPatience is how long a client repeats its FIN, as the stock one does; it does
	// so ever less often, as a stock server that is slow to begin minds more than nine.
	finPatience = 2 * time.Second
	// answerPatience is how long a stock server waits after each FIN for the next.
	answerPatience = 250 * time.Millisecond
	// finQuiet is how long no FIN has to come for the client to have its report: one
	// of 2.0 repeats it every 250 ms.
	finQuiet = 500 * time.Millisecond
)

// awaitReport waits on the socket of a flow for the server's report, and repeats
// the FIN until it is there. fin makes the FIN of a try, of which so many have left.
func awaitReport(ctx context.Context, conn *net.UDPConn, fin func(try int) []byte, try int) (*iperf2.Report, error) {
	begun, b := time.Now(), make([]byte, 1<<16)
	var garbage, refused int
	for gap := finGap; time.Since(begun) < finPatience && ctx.Err() == nil; gap = min(2*gap, answerPatience) {
		for again := time.Now().Add(gap); ; {
			if err := conn.SetReadDeadline(again); err != nil {
				return nil, err
			}
			n, err := conn.Read(b)
			if errors.Is(err, syscall.ECONNREFUSED) {
				refused++
				continue
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("wait for the server's report: %w", err)
			}
			if r, err := iperf2.ParseReport(b[:n]); err == nil {
				hearOut(conn, try-garbage-1)
				return r, nil
			}
			garbage++
		}
		if _, err := conn.Write(fin(try)); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("tell the server the end: %w", err)
		}
		try++
	}
	heard := "it answered nothing"
	switch {
	case garbage > 0:
		heard = fmt.Sprintf("%d answers were no report", garbage)
	case refused > 0:
		heard = "nobody listens on its port (ICMP)"
	}
	return nil, &plan.PeerError{Err: fmt.Errorf("no report from %v, which was told the end %d times in %.1f s: %s",
		conn.RemoteAddr(), try, time.Since(begun).Seconds(), heard)}
}

// hearOut takes the answers that are still to come once the report is there. A
// stock server answers every FIN, and complains of a client that has gone by then.
func hearOut(conn *net.UDPConn, answers int) {
	if conn.SetReadDeadline(time.Now().Add(answerPatience)) != nil {
		return
	}
	for range answers {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return // of an answer or a FIN that was lost, too
		}
	}
}

// answerFINs answers those of a flow that was counted, until none has come for a
// while or ctx ends.
func answerFINs(ctx context.Context, conn *net.UDPConn, a *iperf2.Answers) {
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })()
	b := make([]byte, 1<<16)
	begun := time.Now()
	for ctx.Err() == nil && time.Since(begun) < remembered {
		if conn.SetReadDeadline(time.Now().Add(finQuiet)) != nil {
			return
		}
		n, err := conn.Read(b)
		if err != nil {
			return // also where the client is gone, with its report (ECONNREFUSED)
		}
		if answer := a.To(b[:n]); answer != nil {
			// A client that has gone needs no answer.
			_, _ = conn.Write(answer)
		}
	}
}

// serverReport says to an iperf 2 client what was received of a flow. As the
// client counts its FIN for a datagram, so does the report; finSize is that
// datagram's bytes.
func serverReport(r *result.Receiver, finSize int) *iperf2.Report {
	report := &iperf2.Report{
		Bytes:    r.PayloadBytes + uint64(finSize),
		Duration: time.Duration(r.Seconds * float64(time.Second)),
	}
	if a := r.ArrivedPackets; a != nil {
		report.Lost = a.Lost
		report.OutOfOrder = a.Duplicates
		report.Datagrams = a.Unique + a.Lost + 1
		if a.JitterNS != nil {
			report.Jitter = time.Duration(*a.JitterNS)
		}
		if r.Seconds > 0 {
			report.PPS = uint32(float64(a.Packets) / r.Seconds)
		}
	}
	if r.Arrivals != nil {
		report.OutOfOrder += r.Reordered + r.BeyondWindow
	}
	return report
}

// reported is what an iperf 2 server says that it received of so many datagrams
// of one size. A stock server takes duplicates off its loss, and counts each FIN
// that it missed before the one that it got as lost.
func reported(r *iperf2.Report, sent uint64, size int) *result.Receiver {
	missed := max(r.Datagrams, sent+1) - (sent + 1)
	lost := min(max(r.Lost, missed)-missed, sent)
	unique := sent - lost
	bytes := max(r.Bytes, uint64(size)) - uint64(size)
	packets := max(bytes/uint64(size), unique)
	jitter := int64(r.Jitter)
	a := &result.ArrivedPackets{
		Packets:          packets,
		Unique:           unique,
		Lost:             lost,
		LossIsLowerBound: r.OutOfOrder > 0,
		Duplicates:       packets - unique,
		OutOfOrder:       &r.OutOfOrder,
		JitterNS:         &jitter,
	}
	if sent > 0 {
		ratio := float64(lost) / float64(sent)
		a.LossRatio = &ratio
	}
	return &result.Receiver{PayloadBytes: bytes, Seconds: r.Duration.Seconds(), ArrivedPackets: a}
}
