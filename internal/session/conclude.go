package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"linerate/internal/iperf3"
	"linerate/internal/ledger"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// settle ends the test, exchanges results with the server and makes the report
// of both ends' numbers. failed is why the test broke off, nil if it did not.
func (c *client) settle(ctx context.Context, failed error) error {
	theirs, err := c.exchange(ctx, failed)
	switch {
	case errors.Is(err, errAbandoned):
		err = nil
	case err != nil && failed == nil && ctx.Err() != nil: // stopped, not failed
		c.rep.Warnings = append(c.rep.Warnings, "what the server counted is not known: "+err.Error())
		err = nil
	}
	return errors.Join(failed, err, c.report(theirs))
}

// role is this end's in the first direction.
func (c *client) role() string {
	if c.plan.Request.Reverse {
		return "receiver"
	}
	return "sender"
}

// errAbandoned says that there is no use in asking for the server's results: why
// has been said.
var errAbandoned = errors.New("no results")

// exchange swaps results with the server; nil if it has none to give.
func (c *client) exchange(ctx context.Context, failed error) (*iperf3.Results, error) {
	patience, until := resultPatience, time.Now().Add(resultPatience)
	parting := ctx.Err() != nil || failed != nil
	if parting {
		patience, until = partingPatience, c.parting()
	}
	if c.stock() && c.out != nil && !c.plan.Request.TCP {
		time.Sleep(stockDrain)
	}
	c.end()
	select {
	case <-c.ended:
	case <-time.After(time.Until(until)):
		if failed != nil {
			return nil, errAbandoned
		}
		return nil, fmt.Errorf("the server gave no results within %v", patience)
	}
	if c.endErr != nil {
		return nil, c.endErr
	}
	drain := plan.TestDrain
	if parting {
		drain = min(drain, time.Until(until))
	}
	if err := c.catchUp(drain); err != nil {
		return nil, err
	}
	mine := c.conduct.resultsOf(&c.streams, c.out, c.in)
	if !c.plan.Request.Stock {
		finding, unknown := c.finding()
		extra, err := json.Marshal(finding)
		if err := errors.Join(unknown, err); err != nil {
			return nil, err
		}
		mine.Extra = extra
	}
	if err := c.conn.WriteResults(mine); err != nil {
		return nil, controlError(err)
	}
	if parting {
		patience = max(time.Until(until), time.Millisecond)
	}
	c.conn.Patience = iperf3.Patience{First: patience, Whole: patience}
	theirs, err := c.conn.ReadResults()
	if err != nil {
		return nil, controlError(err)
	}
	if parting {
		return theirs, c.conn.WriteState(iperf3.IperfDone) // that it shows them, nobody waits for
	}
	if err := expect(c.conn, iperf3.DisplayResults, nil); err != nil {
		return nil, err
	}
	return theirs, c.conn.WriteState(iperf3.IperfDone)
}

// parting is until when the end of a test that was stopped, or broke off, may take.
func (c *client) parting() time.Time {
	if at := c.halted.Load(); at != nil {
		return at.Add(partingPatience)
	}
	return time.Now().Add(partingPatience)
}

// catchUp takes what the server sent before it stopped, for no longer than patience.
func (c *client) catchUp(patience time.Duration) error {
	switch in := c.in.(type) {
	case *receiving:
		return in.catchUp(patience)
	case *tcpReceiving:
		return in.drain(patience)
	}
	return nil
}

// finding is what this end can tell before it knows the server's numbers.
func (c *client) finding() (*iperf3.Finding, error) {
	here, err := c.conduct.end(c.directions())
	f := &iperf3.Finding{Hosts: []result.Host{*here}}
	switch out := c.out.(type) {
	case *sending:
		f.Forward = &result.Direction{Sender: out.sent()}
	case *tcpSending:
		f.Forward = &result.Direction{Sender: out.sent()}
	}
	return f, err
}

// directions are the legs in the order of the report's directions; the second is
// nil if there is none.
func (c *client) directions() (first, second leg) {
	if c.out == nil {
		return c.in, nil
	}
	return c.out, c.in
}

// report makes the report of this end's numbers and the server's, nil if there
// are none.
func (c *client) report(theirs *iperf3.Results) error {
	mine, unknown := c.conduct.end(c.directions())
	c.rep.Hosts = []result.Host{*mine}
	var other *result.Host // nil where nothing is known of it
	var found iperf3.Finding
	var out, in []iperf3.StreamResult
	var peers error // what went wrong there
	if theirs != nil {
		c.rep.Config.PeerCongestion = theirs.CongestionUsed
		if len(theirs.Extra) > 0 && !c.stock() {
			if err := json.Unmarshal(theirs.Extra, &found); err != nil {
				return fmt.Errorf("the server's results: %w", err)
			}
			c.rep.Hosts = append(c.rep.Hosts, found.Hosts...)
			c.rep.Warnings = append(c.rep.Warnings, found.Warnings...)
			if found.Error != "" {
				peers = fmt.Errorf("the server: %s", found.Error)
			}
		} else {
			c.rep.Hosts = append(c.rep.Hosts, hostOf(c.otherRole(), theirs))
		}
		c.rep.ServerText, c.rep.ServerJSON = theirs.ServerOutputText, theirs.ServerOutputJSON
		n := min(c.streams.out, len(theirs.Streams))
		out, in = theirs.Streams[:n], theirs.Streams[n:]
	}
	var forward, reverse result.Direction
	if found.Forward != nil {
		forward = *found.Forward
	}
	if found.Reverse != nil {
		reverse = *found.Reverse
	}
	err := errors.Join(c.reportOut(&forward, out), c.reportIn(&reverse, in, theirs))
	for _, iv := range found.Intervals {
		c.news.put(iv)
	}
	c.showNews()
	if theirs != nil && !c.stock() {
		c.conduct.board.settled()
	}
	c.conduct.board.end()
	if len(c.rep.Hosts) > 1 {
		other = &c.rep.Hosts[1]
	}
	var unbalanced, unbalancedBack error
	if c.out == nil {
		forward = reverse
		c.rep.Limit, unbalanced = c.conduct.judge(&forward, other, mine)
		c.conduct.disturbed(&forward, other, mine)
	} else {
		c.rep.Limit, unbalanced = c.conduct.judge(&forward, mine, other)
		c.conduct.disturbed(&forward, mine, other)
		if c.in != nil {
			var back *result.Limit
			back, unbalancedBack = c.conduct.judge(&reverse, ledger.Back(other), ledger.Back(mine))
			c.rep.Limit, c.rep.Reverse = eitherWay(c.rep.Limit, back), &reverse
		}
	}
	c.rep.Sender, c.rep.Receiver, c.rep.Ledger = forward.Sender, forward.Receiver, forward.Ledger
	return errors.Join(err, peers, unknown, unbalanced, unbalancedBack)
}

func (c *client) otherRole() string {
	if c.plan.Request.Reverse {
		return "sender"
	}
	return "receiver"
}

// reportOut is what this end sent and the server received.
func (c *client) reportOut(d *result.Direction, theirs []iperf3.StreamResult) error {
	switch out := c.out.(type) {
	case *sending:
		d.Sender = out.sent()
		c.rep.Warnings = append(c.rep.Warnings, out.notes...)
		if d.Receiver == nil && len(theirs) > 0 {
			d.Receiver = stockReceiver(out, theirs)
		}
		if d.Receiver != nil && d.Receiver.ArrivedPackets != nil && d.Receiver.Unique+d.Receiver.Lost != d.Sender.Packets {
			return fmt.Errorf("the account does not add up: %d sent here are not %d unique and %d lost there", d.Sender.Packets, d.Receiver.Unique, d.Receiver.Lost)
		}
	case *tcpSending:
		d.Sender = out.sent()
		if d.Receiver == nil && len(theirs) > 0 {
			d.Receiver = stockTCPReceiver(theirs)
		}
	}
	return nil
}

// reportIn is what the server sent and this end received.
func (c *client) reportIn(d *result.Direction, theirs []iperf3.StreamResult, all *iperf3.Results) (err error) {
	show := c.conduct.board.add
	if c.out != nil {
		show = turn(show)
	}
	switch in := c.in.(type) {
	case *receiving:
		in.tell(theirs)
		d.Receiver, err = in.settle(show)
		c.rep.Warnings = append(c.rep.Warnings, in.notes...)
		if d.Sender == nil && len(theirs) > 0 {
			d.Sender = stockSender(theirs, false, false)
			in.alike(d, c.plan.Params.Len)
		}
	case *tcpReceiving:
		in.lastInterval(show)
		d.Receiver = in.received()
		if d.Sender == nil && len(theirs) > 0 {
			d.Sender = stockSender(theirs, true, all.SenderHasRetransmits == 1)
		}
	}
	return err
}
