package plan

import (
	"fmt"
	"os"
	"time"

	"linerate/gen"
	"linerate/gen/pace"
	"linerate/internal/host"
	"linerate/internal/pcap"
	"linerate/internal/result"
	"linerate/internal/units"
)

// A ReplayRequest is what was asked of replay. Zero values stand for what was not
// given.
type ReplayRequest struct {
	File  string
	Iface string // must be given

	Speed uint64     // millionths of the capture's own pace
	Rate  units.Rate // in place of it
	Layer units.Layer
	Loops uint64 // how often the capture is sent; 0 until it is stopped

	Rewrite pcap.Rewrite
	Pad     bool // fill with zeros what the capture cut off
	Window  int  // SO_SNDBUF in bytes
}

// A Replay is the plan of a replay: all that its session needs.
type Replay struct {
	Frames   [][]byte // as they are sent, without FCS
	Timeline pace.Timeline
	Loops    uint64 // 0 until it is stopped
	Config   gen.Config
	Report   result.Config
	Capture  result.Replay
	Interval time.Duration // between lines of the report, set by the caller; 0 for none

	traffic traffic
}

// paceMicro is the capture's own pace.
const paceMicro = 1_000_000

// ResolveReplay reads the capture and plans its replay. What can't be sent as it
// was on the wire is refused, with the number of the frame. The errors are
// UsageError or HostError.
func ResolveReplay(r ReplayRequest) (*Replay, error) {
	if r.Iface == "" {
		return nil, &UsageError{"iface", "say by which interface the frames are to leave"}
	}
	link, err := linkNamed(r.Iface)
	switch {
	case err != nil:
		return nil, err
	case !link.Ethernet:
		return nil, &HostError{fmt.Errorf("%s carries no Ethernet frames", link.Name)}
	case !link.Running():
		return nil, notRunning(link)
	}
	captured, err := readCapture(r.File)
	if err != nil {
		return nil, err
	}
	p := &Replay{
		Loops:   r.Loops,
		Config:  gen.Config{Interface: link.Name, IfIndex: link.Index, Window: r.Window},
		Capture: result.Replay{File: r.File, Frames: len(captured), Loops: r.Loops},
	}
	if err := p.frames(&r, captured, link); err != nil {
		return nil, err
	}
	p.traffic = newTraffic(p.Frames)
	p.Report = result.Config{
		Protocol: "ethernet", Path: "packet", Peer: "none", Direction: "forward", Interface: link.Name,
	}
	return p, p.pace(&r, captured, link)
}

func readCapture(name string) ([]pcap.Frame, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &UsageError{"", err.Error()}
	}
	defer f.Close()
	frames, err := pcap.Read(f)
	if err == nil && len(frames) == 0 {
		err = fmt.Errorf("there is no frame in it")
	}
	if err != nil {
		return nil, &UsageError{"", fmt.Sprintf("%s: %v", name, err)}
	}
	return frames, nil
}

// frames makes what is to be sent of what was captured.
func (p *Replay) frames(r *ReplayRequest, captured []pcap.Frame, link *host.Link) error {
	for i := range captured {
		f := &captured[i]
		refuse := func(flag, format string, args ...any) error {
			return &UsageError{flag, fmt.Sprintf("%s: frame %d ", r.File, i+1) + fmt.Sprintf(format, args...)}
		}
		if f.Cut() {
			if !r.Pad {
				return refuse("", "was cut to %d of %d bytes when it was captured: capture anew with a longer snaplen (tcpdump -s 0), or fill it with zeros (--pad)",
					len(f.Data), f.Length)
			}
			if f.Length > pcap.MaxFrame {
				return refuse("pad", "claims %d bytes", f.Length)
			}
			f.Data = append(f.Data, make([]byte, f.Length-len(f.Data))...)
			p.Capture.Padded++
		}
		if len(f.Data) < etherHeader {
			return refuse("", "has %d bytes, less than an Ethernet header", len(f.Data))
		}
		data, wrong := r.Rewrite.Apply(f.Data)
		if wrong {
			p.Capture.Mended++
		}
		if most := etherHeader + link.MTU; len(data) > most && !(pcap.Tagged(data) && len(data) <= most+vlanTag) {
			return refuse("", "has %d bytes and needs MTU %d; %s has %d: raise it (ip link set dev %s mtu …), or capture without GRO and TSO if it was merged",
				len(data), len(data)-etherHeader, link.Name, link.MTU, link.Name)
		}
		p.Frames = append(p.Frames, data)
		p.Config.Frame = max(p.Config.Frame, len(data))
	}
	return nil
}

const (
	etherHeader = 14
	vlanTag     = 4
)

// pace settles when each frame is due.
func (p *Replay) pace(r *ReplayRequest, captured []pcap.Frame, link *host.Link) error {
	if r.Rate == (units.Rate{}) {
		if r.Layer != 0 {
			return &UsageError{"layer", "says which bits a rate counts: give a --rate"}
		}
		if r.Speed == 0 {
			r.Speed = paceMicro
		}
		marks, span := marks(captured)
		p.Timeline = pace.Timeline{Marks: marks, Cycle: span + span/max(uint64(len(marks)-1), 1), Num: paceMicro, Den: r.Speed}
		p.Capture.Speed = float64(r.Speed) / paceMicro
		p.Capture.SpanS = time.Duration(span).Seconds()
		return nil
	}
	if r.Speed != 0 {
		return &UsageError{"speed", "contradicts --rate: give one of them"}
	}
	o, err := newOffer(r.Rate, r.Layer, link)
	if err != nil {
		return err
	}
	costs := p.traffic.costs(o)
	if sum(costs) == 0 {
		return &UsageError{"rate", fmt.Sprintf("no frame of %s has bytes at %v: name another layer, as %v@l2", r.File, o.layer, r.Rate)}
	}
	p.Timeline = pace.RateTimeline(costs, o.rate.Micro)
	p.Report.Rate, p.Report.Layer = r.Rate.String(), o.layer.String()
	switch o.rate.Unit {
	case units.Bits:
		p.Report.RateBps = float64(o.rate.Micro) / units.MicrosPerUnit
	case units.Packets:
		p.Report.RatePps = float64(o.rate.Micro) / units.MicrosPerUnit
	}
	return nil
}

// marks are the times of a capture in ns. One that is out of order sends a frame
// right after the one before it.
func marks(captured []pcap.Frame) (marks []uint64, span uint64) {
	for _, f := range captured {
		span = max(span, uint64(max(f.At, 0)))
		marks = append(marks, span)
	}
	return marks, span
}
