package report

import (
	"cmp"
	"strings"

	"linerate/internal/result"
)

// iperf3Start is the object start: who tests whom, and what was asked for. Before
// a test came about it has no more than the program's version.
type iperf3Start struct {
	Connected []iperf3Socket `json:"connected"`
	Version   string         `json:"version"`
	System    string         `json:"system_info"`
	*iperf3Test
}

// iperf3Test is what start says of a test that came about. Sizes are in bytes,
// rates in bit/s.
type iperf3Test struct {
	Timestamp     iperf3Timestamp `json:"timestamp"`
	ConnectingTo  *iperf3Host     `json:"connecting_to,omitempty"`       // of a client
	Accepted      *iperf3Host     `json:"accepted_connection,omitempty"` // of a server
	Cookie        string          `json:"cookie"`
	MSS           *int            `json:"tcp_mss,omitempty"`         // as asked for
	MSSDefault    *int            `json:"tcp_mss_default,omitempty"` // 0 is unknown
	TargetBitrate uint64          `json:"target_bitrate"`
	FQRate        uint64          `json:"fq_rate"`
	BufferAsked   int             `json:"sock_bufsize"`
	SndBuf        int             `json:"sndbuf_actual"`
	RcvBuf        int             `json:"rcvbuf_actual"`
	TestStart     iperf3TestStart `json:"test_start"`
}

type iperf3Socket struct {
	Socket     int    `json:"socket"`
	LocalHost  string `json:"local_host"`
	LocalPort  uint16 `json:"local_port"`
	RemoteHost string `json:"remote_host"`
	RemotePort uint16 `json:"remote_port"`
}

type iperf3Timestamp struct {
	Time         string `json:"time"`
	Seconds      int64  `json:"timesecs"`
	Milliseconds int64  `json:"timemillisecs"`
}

type iperf3Host struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// iperf3TestStart is what was asked for; times are in seconds, and a switch is 0
// or 1.
type iperf3TestStart struct {
	Protocol      string  `json:"protocol"`
	Streams       int     `json:"num_streams"`
	Block         int     `json:"blksize"`
	Omit          float64 `json:"omit"`
	Duration      float64 `json:"duration"`
	Bytes         int64   `json:"bytes"`
	Blocks        uint64  `json:"blocks"`
	Reverse       int     `json:"reverse"`
	TOS           int     `json:"tos"`
	TargetBitrate uint64  `json:"target_bitrate"`
	Bidir         int     `json:"bidir"`
	FQRate        uint64  `json:"fqrate"`
	Interval      float64 `json:"interval"`
	GSO           int     `json:"gso"`
	GRO           int     `json:"gro"`
}

func (f *IPerf3) jsonStart(r *result.Report) iperf3Start {
	start := iperf3Start{Connected: []iperf3Socket{}, Version: f.Version, System: f.System}
	if r.Config == nil {
		return start
	}
	for i, s := range r.Streams {
		local, remote := endpoint(s.Local), endpoint(s.Remote)
		start.Connected = append(start.Connected, iperf3Socket{
			Socket:    socket(i),
			LocalHost: local.Addr().String(), LocalPort: local.Port(),
			RemoteHost: remote.Addr().String(), RemotePort: remote.Port(),
		})
	}
	start.iperf3Test = &iperf3Test{
		Timestamp: iperf3Timestamp{
			Time:         started(r).Format(rfc1123GMT),
			Seconds:      started(r).Unix(),
			Milliseconds: started(r).UnixMilli(),
		},
		Cookie:        f.Cookie,
		TargetBitrate: bitrate(r.Config),
		FQRate:        f.FQRate,
		BufferAsked:   f.BufferAsked,
		TestStart:     f.testStart(r.Config),
	}
	if got := r.Config.WindowGot * kernelDoubles; f.lanes(r)[0].sends {
		start.SndBuf = got
	} else {
		start.RcvBuf = got
	}
	other := &iperf3Host{f.Host, f.Port}
	if f.Server {
		start.Accepted = other
	} else {
		start.ConnectingTo = other
	}
	if mss := cmp.Or(r.Config.MSS, r.Config.ControlMSS); tcp(r) && f.MSSAsked {
		start.MSS = &mss
	} else if tcp(r) {
		start.MSSDefault = &mss
	}
	return start
}

func (f *IPerf3) testStart(c *result.Config) iperf3TestStart {
	start := iperf3TestStart{
		Protocol:      strings.ToUpper(c.Protocol),
		Streams:       parallel(c),
		Block:         f.block(c),
		Omit:          c.OmitS,
		Blocks:        f.Blocks,
		Reverse:       oneIf(c.Direction == "reverse"),
		TOS:           c.TOS,
		TargetBitrate: bitrate(c),
		Bidir:         oneIf(c.Direction == "bidir"),
		FQRate:        f.FQRate,
		Interval:      f.Interval,
		GSO:           oneIf(c.Path == "gso"),
		GRO:           oneIf(c.RX == "gro"),
	}
	switch {
	case f.Blocks != 0:
	case c.Bytes != 0:
		start.Bytes = c.Bytes
	default:
		start.Duration = c.DurationS
	}
	return start
}

// oneIf is a switch as iperf3 writes it.
func oneIf(on bool) int {
	if on {
		return 1
	}
	return 0
}
