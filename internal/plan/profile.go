package plan

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"linerate/gen/pace"
	"linerate/internal/host"
	"linerate/internal/units"
)

// A RateAt is a rate from a time after the start on. Its number is 0 for silence.
type RateAt struct {
	From  time.Duration
	Rate  units.Rate
	where string // where it was read, for messages
}

// A Profile is rates that follow one another.
type Profile []RateAt

// profileMost is the most rates of a profile.
const profileMost = 100_000

// ParseProfile reads a CSV file of lines TIME,RATE: from which time after the start
// on, in seconds or as a Go duration, which rate holds. The first time is 0. The rate
// 0 is silence; as the last line it is the end of the test. Empty lines, those that
// begin with # and a first line of words are passed over.
func ParseProfile(r io.Reader) (Profile, error) {
	var p Profile
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || len(p) == 0 && strings.EqualFold(strings.ReplaceAll(line, " ", ""), "time,rate") {
			continue
		}
		at, err := parseRateAt(line, p)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		at.where = fmt.Sprintf("line %d", n)
		if p = append(p, at); len(p) > profileMost {
			return nil, fmt.Errorf("line %d: more than %d rates", n, profileMost)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(p) == 0 || p.most().Micro == 0 {
		return nil, fmt.Errorf("no line has a rate: write TIME,RATE as 0,100M")
	}
	return p, nil
}

// parseRateAt reads a line that follows those of p.
func parseRateAt(line string, p Profile) (RateAt, error) {
	from, rate, ok := strings.Cut(line, ",")
	if !ok {
		return RateAt{}, fmt.Errorf("%q is not TIME,RATE, as 10,250M", line)
	}
	var at RateAt
	var err error
	if at.From, err = units.ParseDuration(strings.TrimSpace(from)); err != nil {
		return at, err
	}
	switch {
	case len(p) == 0 && at.From != 0:
		return at, fmt.Errorf("the first time has to be 0, not %s", from)
	case len(p) > 0 && at.From <= p[len(p)-1].From:
		return at, fmt.Errorf("the time %s is not after %v, that of the line before", from, p[len(p)-1].From)
	}
	if rate = strings.TrimSpace(rate); rate == "0" {
		return at, nil
	}
	if at.Rate, err = units.ParseRate(rate); err == nil && at.Rate.Unit == units.Max {
		err = fmt.Errorf("max is no rate that can follow another")
	}
	return at, err
}

// A Ramp is rates from one to another by steps, each as long as the others.
type Ramp struct{ From, To, Step units.Rate }

// ParseRamp reads FROM:TO:STEP, rates of one unit; it may go down.
func ParseRamp(s string) (*Ramp, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("want FROM:TO:STEP, as 100M:1G:100M")
	}
	var r Ramp
	for i, to := range []*units.Rate{&r.From, &r.To, &r.Step} {
		var err error
		if *to, err = units.ParseRate(parts[i]); err != nil {
			return nil, err
		}
	}
	switch {
	case r.From.Unit == units.Max || r.From.Unit != r.To.Unit || r.From.Unit != r.Step.Unit:
		return nil, fmt.Errorf("%q: FROM, TO and STEP have to be of one unit, and not max", s)
	case r.From.Layer != r.To.Layer || r.Step.Layer != 0 && r.Step.Layer != r.From.Layer:
		return nil, fmt.Errorf("%q: FROM and TO have to be of one layer", s)
	case r.From.Micro == r.To.Micro:
		return nil, fmt.Errorf("%q goes nowhere: FROM and TO are equal", s)
	case r.steps() > profileMost:
		return nil, fmt.Errorf("%q has more than %d steps", s, profileMost)
	}
	return &r, nil
}

// steps is how many rates the ramp has.
func (r *Ramp) steps() uint64 {
	return (max(r.From.Micro, r.To.Micro)-min(r.From.Micro, r.To.Micro))/r.Step.Micro + 1
}

// profile spreads the steps over the time of a test.
func (r *Ramp) profile(d time.Duration) Profile {
	n := r.steps()
	p := make(Profile, n)
	for i := range p {
		rate, change := r.From, uint64(i)*r.Step.Micro
		if r.To.Micro > r.From.Micro {
			rate.Micro += change
		} else {
			rate.Micro -= change
		}
		p[i] = RateAt{From: d / time.Duration(n) * time.Duration(i), Rate: rate, where: fmt.Sprintf("step %d", i+1)}
	}
	return p
}

// most is the highest rate.
func (p Profile) most() units.Rate {
	most := p[0].Rate
	for _, at := range p {
		if at.Rate.Micro > most.Micro {
			most = at.Rate
		}
	}
	return most
}

// offers makes the rates definite: the highest of them, and all in its unit.
func (p Profile) offers(flag string, layer units.Layer, link *host.Link) (offer, pace.Profile, error) {
	highest, err := newOffer(p.most(), layer, link)
	if err != nil {
		return offer{}, nil, err
	}
	rates := make([]pace.Rate, len(p))
	for i, at := range p {
		rates[i].From = at.From
		if at.Rate.Micro == 0 {
			continue
		}
		o, err := newOffer(at.Rate, layer, link)
		if err != nil {
			return offer{}, nil, err
		}
		if o.rate.Unit != highest.rate.Unit || o.layer != highest.layer {
			return offer{}, nil, &UsageError{flag, fmt.Sprintf("%s: %v is not of the unit and layer of %v", at.where, at.Rate, highest.rate)}
		}
		rates[i].Micro = o.rate.Micro
		if o.rate.Micro > highest.rate.Micro {
			highest = o
		}
	}
	return highest, pace.NewProfile(rates), nil
}

// stepTime is how long each step of a ramp lasts in a test of no given length.
const stepTime = time.Second

// profile is the rates that were asked for, under the name of their flag, and the
// length of the test; nil for one rate.
func (r *SendRequest) profile() (flag string, p Profile, d time.Duration, err error) {
	switch d = r.Duration; {
	case r.Ramp != nil && r.Profile != nil:
		return "ramp", nil, 0, &UsageError{"ramp", "contradicts --profile: give one of them"}
	case r.Ramp != nil:
		if d == 0 {
			d = stepTime * time.Duration(r.Ramp.steps())
		}
		return "ramp", r.Ramp.profile(d), d, nil
	case r.Profile != nil:
		last := r.Profile[len(r.Profile)-1]
		if d == 0 && last.Rate.Micro == 0 {
			d = last.From
		}
		if d == 0 && r.Count == 0 && r.Bytes == 0 {
			err = &UsageError{"profile", fmt.Sprintf("%s has no end: end it with a line TIME,0, or give --duration", last.where)}
		}
		return "profile", r.Profile, d, err
	}
	return "rate", nil, d, nil
}
