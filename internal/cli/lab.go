package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/iperf3"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/units"
)

// faults are what --loss and its like ask of the wire.
type faults struct {
	loss    portion
	dup     uint64
	reorder uint64
	shape   units.Rate
}

// A portion is every n-th packet exactly, or a ratio at random; zero is none.
type portion struct {
	every uint64
	ratio float64
}

func newLab(stdio Stdio) *cobra.Command {
	var c lab.Config
	var f faults
	var peer string
	cmd := &cobra.Command{
		Use:   "lab [flags] -- CMD [ARG…]",
		Short: "Run a command in host a of a two-host lab made of namespaces on this machine",
		Long: `Run a command in host a (10.77.0.1, fd77::1) of a lab: two hosts made of network
namespaces on this machine, joined by a veth pair, and with a fault asked for a
third one between them that makes it: --loss, --dup and --reorder on the way from a
to b, the others each way. Host b is 10.77.0.2, fd77::2; it runs linerate serve
meanwhile, or what --peer says. Nothing of it is seen on the machine itself, and it
is gone when the command ends.`,
		Example: `  linerate lab -- linerate test 10.77.0.2
  linerate lab -- ping -c 3 10.77.0.2
  linerate lab --mtu 9000 --loss 1/1000 --peer 'linerate recv' -- linerate send 10.77.0.2 -t 3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &plan.UsageError{Msg: "linerate lab takes a command, as: linerate lab -- ping -c 3 10.77.0.2"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.apply(&c); err != nil {
				return err
			}
			return runLab(cmd.Context(), c, peer, args, stdio)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.SetInterspersed(false)
	add(flags, &c.MTU, "mtu", "", "1500", "BYTES", "of every link", within(1280, 65535))
	add(flags, &f.loss, "loss", "", "", "PORTION", "lose 1/1000 (each 1000th datagram, exactly) or 0.1% (at random)", parsePortion)
	add(flags, &f.dup, "dup", "", "", "1/N", "duplicate each N-th datagram", parseEvery)
	add(flags, &f.reorder, "reorder", "", "", "1/N", "let two neighbours of each N datagrams of linerate's change places", parseEvery)
	add(flags, &c.Delay, "delay", "", "", "TIME", "hold every frame so long, each way", duration(time.Microsecond))
	add(flags, &f.shape, "shape", "", "", "RATE", "let no more through than this (bits of frames without FCS)", units.ParseRate)
	flags.StringVar(&peer, "peer", "", "a shell command to run in host b meanwhile, in place of linerate serve")
	return cmd
}

// peerPatience is how long the peer's command may take to end by itself, as a
// counter does once its sender is done.
const peerPatience = 3 * time.Second

// stopPatience is how long either command may take to end once it was told to.
const stopPatience = 400 * time.Millisecond

// leastShape is the least rate in bit/s that a token bucket can keep: a byte a
// millisecond.
const leastShape = 8000

func (f *faults) apply(c *lab.Config) error {
	if f.shape != (units.Rate{}) {
		if f.shape.Unit != units.Bits || f.shape.Layer != 0 || f.shape.Micro < leastShape*units.MicrosPerUnit {
			return &plan.UsageError{Flag: "shape", Msg: "want a rate in bits of at least 8k, as 100M, without a layer"}
		}
		c.Shape.Rate = f.shape.Micro / units.MicrosPerUnit
	}
	if f.loss == (portion{}) && f.dup == 0 && f.reorder == 0 {
		return nil
	}
	c.Impair = &lab.Impairment{
		DropEvery: f.loss.every, DropRandom: f.loss.ratio, Seed: 1,
		DupEvery: f.dup, SwapEvery: f.reorder,
	}
	if f.reorder > 0 {
		c.Impair.Magic = probe.MagicData
	}
	return nil
}

func runLab(ctx context.Context, c lab.Config, peer string, args []string, stdio Stdio) error {
	l, err := lab.New(c)
	if err != nil {
		return &plan.HostError{Err: err}
	}
	defer l.Close()
	if ctx.Err() != nil {
		return &exitError{status: exitInterrupted}
	}
	p, err := peerCommand(peer, stdio)
	if err != nil {
		return err
	}
	end, err := l.B().Background(p)
	if err != nil {
		return err
	}
	// A stop is told to both commands at once: one after the other could take longer
	// than a stop may, and what was left would live on.
	defer context.AfterFunc(ctx, func() { end(stopPatience) })()
	defer func() {
		if peer == "" || ctx.Err() != nil { // a server ends when it is told to
			end(stopPatience)
		} else {
			end(peerPatience)
		}
	}()
	if peer == "" {
		if err := awaitServer(ctx, l); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdio.Out, stdio.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopPatience
	err = l.A().Run(cmd)
	if ctx.Err() != nil {
		return &exitError{status: exitInterrupted}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &exitError{status: exit.ExitCode()}
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return &plan.UsageError{Msg: err.Error()}
	}
	return err
}

// peerCommand is what runs in host b: a shell command, or this program's server,
// of which only the errors are shown.
func peerCommand(peer string, stdio Stdio) (*exec.Cmd, error) {
	if peer != "" {
		p := exec.Command("/bin/sh", "-c", peer)
		p.Stdout, p.Stderr = stdio.Out, stdio.Err
		return p, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := exec.Command(self, "serve")
	p.Stderr = stdio.Err
	return p, nil
}

// awaitServer waits until the server in host b can be reached.
func awaitServer(ctx context.Context, l *lab.Lab) error {
	at := netip.AddrPortFrom(l.B().Addr4, iperf3.Port).String()
	for end := time.Now().Add(peerPatience); ; time.Sleep(5 * time.Millisecond) {
		err := l.A().Do(func() error {
			conn, err := net.DialTimeout("tcp", at, time.Second)
			if err == nil {
				conn.Close()
			}
			return err
		})
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server in host b did not start: %w", err)
		}
	}
}

// parsePortion parses 1/N or a percentage.
func parsePortion(s string) (portion, error) {
	if number, ok := strings.CutSuffix(s, "%"); ok {
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || !(x > 0 && x <= 100) {
			return portion{}, fmt.Errorf("want more than 0%% and at most 100%%")
		}
		return portion{ratio: x / 100}, nil
	}
	every, err := parseEvery(s)
	if err != nil {
		return portion{}, fmt.Errorf("want 1/N for each N-th, or a percentage for at random")
	}
	return portion{every: every}, nil
}

// parseEvery parses 1/N.
func parseEvery(s string) (uint64, error) {
	number, ok := strings.CutPrefix(s, "1/")
	n, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || n < 2 || n > math.MaxInt64 {
		return 0, fmt.Errorf("want 1/N with N of 2 or more")
	}
	return n, nil
}
