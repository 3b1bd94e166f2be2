package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/bench"
	"linerate/gen"
	"linerate/internal/report"
	"linerate/internal/result"
	"linerate/internal/units"
	"linerate/rx"
)

// A trials is what search and sweep have in common: against whom trials run, and at
// which sizes.
type trials struct {
	peer   bench.Peer
	frames []int
	sizes  []int
	most   units.Rate
	layer  units.Layer
}

func (t *trials) flags(f *pflag.FlagSet, sizes string) {
	add(f, &t.frames, "frame", "", "", "BYTES", "Ethernet frame with FCS; may be given again (default --sizes)", t.another)
	add(f, &t.sizes, "sizes", "", sizes, "LIST", "frame sizes with FCS", parseSizes)
	add(f, &t.most, "rate", "b", "max", "RATE", "the highest rate to try (default what this host sends, or the link)", units.ParseRate)
	add(f, &t.layer, "layer", "", "", "LAYER", "which bits a rate counts: l1, l2, l3 or l4 (default l4)", units.ParseLayer)
	peerFlags(f, &t.peer)
}

// peerFlags say how trials reach the peer.
func peerFlags(f *pflag.FlagSet, p *bench.Peer) {
	p.Version = version()
	add(f, &p.Path, "path", "", auto, "PATH", "how frames leave: auto, "+strings.Join(gen.Names(), ", "), nameOf(gen.Names()))
	add(f, &p.RX, "rx", "", auto, "PATH", "how frames are counted: auto, "+strings.Join(rx.Names(), ", "), nameOf(rx.Names()))
	f.BoolVar(&p.NoGSO, "no-gso", false, "no super-frames (UDP GSO): every packet leaves alone")
	f.BoolVar(&p.Realtime, "realtime", false, "send before all ordinary threads (SCHED_FIFO; needs CAP_SYS_NICE)")
	add(f, &p.Port, "port", "p", "5201", "PORT", "the server's port, unless HOST names one", within(1, 65535))
	addressFlags(f, &p.V4, &p.V6, &p.Iface)
	f.StringVarP(&p.Bind, "bind", "B", "", "source address, or an interface's name")
}

// another adds a frame size to those that were given.
func (t *trials) another(s string) ([]int, error) {
	size, err := parseSizes(s)
	return append(t.frames, size...), err
}

// all are the frame sizes that were asked for.
func (t *trials) all() []int {
	if len(t.frames) > 0 {
		return t.frames
	}
	return t.sizes
}

// way finds the way to the peer, and refuses what can't be sent by it.
func (t *trials) way(ctx context.Context) (way bench.Way, err error) {
	for _, frame := range t.all() {
		if way, err = t.peer.Way(ctx, bench.Offer{Frame: frame, Rate: t.most, Duration: time.Second}); err != nil {
			return way, err
		}
	}
	return way, nil
}

func newSearch(stdio Stdio) *cobra.Command {
	var (
		t    trials
		c    bench.Search
		loss *float64
		long time.Duration
	)
	out := output{stdio: stdio}
	cmd := &cobra.Command{
		Use:   "search HOST[:PORT]",
		Short: "The highest rate that loses nothing, by frame size",
		Long: `The highest rate that a path to HOST, where linerate serve runs, carries without
loss, for each frame size; with --loss-ratio also the highest that loses no more.

mlrsearch (draft-ietf-bmwg-mlrsearch) decides each rate by several short trials
and bears a bad one. rfc2544 searches by halves with trials of 2 s, and what it
reports passed one of 60 s; then it measures latency at that rate, and the longest
burst at the highest rate that loses nothing (back-to-back frames). Both load the
path to its limit: not for a network that others use (RFC 6815).`,
		Example: `  linerate search 10.0.0.2 --frame 64 --frame 1518
  linerate search 10.0.0.2 --method rfc2544 --sizes 64,128,256,512,1024,1280,1518
  linerate search 10.0.0.2 --loss-ratio 0.5% --trial 2s --csv`,
		Args: exactly(1, 1, "one HOST[:PORT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.peer.Host = args[0]
			c.Frames, c.Most, c.Layer, c.Trial = t.all(), t.most, t.layer, long
			if loss != nil {
				c.Loss = *loss
			}
			if c.Trial == 0 {
				c.Trial = map[string]time.Duration{bench.MLRsearch: time.Second, bench.RFC2544: time.Minute}[c.Method]
			}
			return runSearch(cmd.Context(), c, &t, &out)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	t.flags(f, "64,512,1518")
	add(f, &c.Method, "method", "", bench.MLRsearch, "METHOD", bench.MLRsearch+" or "+bench.RFC2544, parseMethod)
	add(f, &loss, "loss-ratio", "", "", "RATIO", "search also for the highest rate that loses no more, as 0.5%", parseRatio)
	add(f, &long, "trial", "", "", "TIME", "length of a trial that decides (default 1s, rfc2544 60s)", duration(100*time.Millisecond))
	add(f, &c.Repeats, "repeats", "", "1", "N", "how often rfc2544 measures latency and bursts (the standard: 20 and 50); 0 for neither", within(0, 1000))
	out.flags(cmd)
	out.csvFlag(cmd, "the rows of the table")
	return cmd
}

func runSearch(ctx context.Context, c bench.Search, t *trials, out *output) error {
	way, err := t.way(ctx)
	if err != nil {
		return err
	}
	c.Run, c.LineBps, c.IPv6, c.Version = t.peer.Run, way.SpeedBps, way.IPv6, version()
	out.begin()
	c.Progress, c.Started = out.Progress, out.expect
	rep, err := c.Search(ctx)
	return conclude(ctx, out, rep, err, func() error { return report.Search(out.stdio.Out, rep, out.options) }, true)
}

func parseMethod(s string) (string, error) {
	if s != bench.MLRsearch && s != bench.RFC2544 {
		return "", fmt.Errorf("want %s or %s", bench.MLRsearch, bench.RFC2544)
	}
	return s, nil
}

// expect says to a person how long a list of trials may take.
func (o *output) expect(_ *result.Report, d time.Duration) {
	if o.json || o.csv {
		return
	}
	fmt.Fprintf(o.stdio.Err, "linerate: this may take %v\n", d.Round(time.Second))
}
