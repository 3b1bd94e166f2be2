package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"linerate/internal/iperf3"
	"linerate/internal/ledger"
	"linerate/internal/plan"
	"linerate/internal/result"
)

// settle hears what the client counted, waits for what is still on its way, and
// tells the client what this end found. failed is why the test broke off, nil if
// it did not.
func (s *server) settle(ctx context.Context, failed error) error {
	if failed != nil {
		_, err := s.account(nil)
		return errors.Join(failed, err)
	}
	s.Conn.Patience = iperf3.Patience{First: resultPatience, Whole: messagePatience}
	if err := s.Conn.WriteState(iperf3.ExchangeResults); err != nil {
		return controlError(err)
	}
	theirs, err := s.Conn.ReadResults()
	if err != nil {
		_, errAccount := s.account(nil)
		return errors.Join(controlError(err), errAccount)
	}
	finding, err := s.account(theirs)
	mine := s.conduct.resultsOf(&s.streams, s.in, s.out)
	if s.Params.GetServerOutput && s.Output != nil {
		mine.ServerOutputText = s.Output(s.rep)
	}
	if s.ask != nil {
		if err != nil {
			finding.Error = err.Error()
		}
		extra, errJSON := json.Marshal(finding)
		if errJSON != nil {
			return errors.Join(err, errJSON)
		}
		mine.Extra = extra
	}
	if err := s.Conn.WriteResults(mine); err != nil {
		return controlError(err)
	}
	if err := s.Conn.WriteState(iperf3.DisplayResults); err != nil {
		return controlError(err)
	}
	return errors.Join(err, expect(s.Conn, iperf3.IperfDone, nil))
}

// role is this end's in the first direction.
func (s *server) role() string {
	if s.in == nil {
		return "sender"
	}
	return "receiver"
}

// directions are the legs in the order of the report's directions; the second is
// nil if there is none.
func (s *server) directions() (first, second leg) {
	if s.in == nil {
		return s.out, nil
	}
	return s.in, s.out
}

// account closes this end's accounts with what the client tells, nil if it tells
// nothing, and makes the report.
func (s *server) account(theirs *iperf3.Results) (*iperf3.Finding, error) {
	var forward, reverse result.Direction
	var client iperf3.Finding
	if theirs != nil && len(theirs.Extra) > 0 {
		if err := json.Unmarshal(theirs.Extra, &client); err != nil {
			return &iperf3.Finding{}, fmt.Errorf("the client's results: %w", err)
		}
	}
	if theirs != nil {
		s.rep.Config.PeerCongestion = theirs.CongestionUsed
	}
	unheard := s.hearRest(theirs)
	here, unknown := s.conduct.end(s.directions())
	s.rep.Hosts = []result.Host{*here}
	err := errors.Join(unheard, unknown, s.accountIn(&forward))
	switch out := s.out.(type) {
	case *sending:
		reverse.Sender = out.sent()
		s.rep.Warnings = append(s.rep.Warnings, out.notes...)
	case *tcpSending:
		reverse.Sender = out.sent()
	}
	s.conduct.board.end()
	found := &iperf3.Finding{Hosts: s.rep.Hosts, Warnings: s.rep.Warnings[s.warned:], Intervals: s.unsent}
	switch {
	case client.Forward != nil:
		forward.Sender = client.Forward.Sender
	case theirs != nil && s.ask == nil:
		s.stockClient(&forward, &reverse, theirs)
	}
	s.rep.Hosts = append(s.rep.Hosts, client.Hosts...)
	var unbalanced error
	s.rep.Limit, unbalanced = s.judge(&forward, &reverse)
	if s.in != nil {
		found.Forward = &result.Direction{Receiver: forward.Receiver, Ledger: forward.Ledger}
	}
	if s.out != nil {
		found.Reverse = &result.Direction{Sender: reverse.Sender}
	}
	way := &forward
	if s.in == nil {
		way = &reverse
	} else if s.out != nil {
		s.rep.Reverse = &reverse
	}
	s.rep.Sender, s.rep.Receiver, s.rep.Ledger = way.Sender, way.Receiver, way.Ledger
	return found, errors.Join(err, unbalanced)
}

// judge says of the directions of the test what the hosts in the report show, and
// returns what held it. What the client received, this end does not know.
func (s *server) judge(forward, reverse *result.Direction) (*result.Limit, error) {
	here := &s.rep.Hosts[0]
	var there *result.Host
	if len(s.rep.Hosts) > 1 {
		there = &s.rep.Hosts[1]
	}
	switch {
	case s.in == nil:
		return s.conduct.judge(reverse, here, there)
	case s.out == nil:
		return s.conduct.judge(forward, there, here)
	}
	first, unbalanced := s.conduct.judge(forward, there, here)
	second, unbalancedBack := s.conduct.judge(reverse, ledger.Back(here), ledger.Back(there))
	return eitherWay(first, second), errors.Join(unbalanced, unbalancedBack)
}

// stockClient adds to the report what a stock client tells. What it received over
// UDP it does not know: it stops counting while packets are on their way.
func (s *server) stockClient(forward, reverse *result.Direction, theirs *iperf3.Results) {
	in, _ := s.counts()
	if in > len(theirs.Streams) {
		return
	}
	overTCP := !s.Params.UDP
	if in > 0 {
		forward.Sender = stockSender(theirs.Streams[:in], overTCP, theirs.SenderHasRetransmits == 1)
		if r, ok := s.in.(*receiving); ok {
			r.alike(forward, s.Params.Len)
		}
	}
	if overTCP && in < len(theirs.Streams) {
		reverse.Receiver = stockTCPReceiver(theirs.Streams[in:])
	}
	other := "sender"
	if s.in == nil {
		other = "receiver"
	}
	s.rep.Hosts = append(s.rep.Hosts, hostOf(other, theirs))
}

// hearRest takes what is still on its way of what the client says that it sent.
func (s *server) hearRest(theirs *iperf3.Results) error {
	if theirs == nil {
		return nil
	}
	switch in := s.in.(type) {
	case *receiving:
		in.tell(theirs.Streams)
		return in.await()
	case *tcpReceiving:
		return in.drain(plan.TestDrain)
	}
	return nil
}

// accountIn closes the account of what the client sent.
func (s *server) accountIn(d *result.Direction) (err error) {
	switch in := s.in.(type) {
	case *receiving:
		d.Receiver, err = in.settle(s.conduct.board.add)
		s.rep.Warnings = append(s.rep.Warnings, in.notes...)
	case *tcpReceiving:
		in.lastInterval(s.conduct.board.add)
		d.Receiver = in.received()
	}
	return err
}
