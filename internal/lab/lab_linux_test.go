package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"linerate/internal/probe"
)

// childEnv makes the test binary do what a test wants of a process of its own.
const childEnv = "LAB_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "hold":
		hold()
	case "available":
		fmt.Println(available())
	}
}

// child is the test binary as another process.
func child(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

// interfaces is what the machine itself has.
func interfaces(t *testing.T) []string {
	t.Helper()
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

// threads is the network namespaces that threads of this process are in.
func threads(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range tasks {
		if name, err := os.Readlink(task); err == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// echo sends a datagram from one host to an address of another, and back.
func echo(t *testing.T, src, dst *Host, addr netip.Addr) {
	t.Helper()
	server, client := listen(t, dst, addr, 7), dial(t, src, addr, 7)
	defer server.Close()
	defer client.Close()
	deadline := time.Now().Add(5 * time.Second)
	server.SetDeadline(deadline)
	client.SetDeadline(deadline)
	write(t, client, []byte("over"))
	buf := make([]byte, 16)
	n, peer, err := server.ReadFromUDPAddrPort(buf)
	if err != nil {
		t.Fatalf("to %s: %v", addr, err)
	}
	if _, err := server.WriteToUDPAddrPort(append(buf[:n], " and back"...), peer); err != nil {
		t.Fatal(err)
	}
	if n, err = client.Read(buf); err != nil || string(buf[:n]) != "over and back" {
		t.Fatalf("from %s: %q, %v", addr, buf[:n], err)
	}
}

// All layouts carry IPv4, IPv6 and, between neighbours, link-local both ways, two
// labs of the same addresses at a time, and the machine sees none of it.
func TestLayouts(t *testing.T) {
	before, ns := interfaces(t), threads(t)
	tests := map[string]Config{
		"direct":              {},
		"direct jumbo":        {MTU: 9000, FinishedChecksums: true},
		"impaired":            {Impair: &Impairment{}},
		"impaired jumbo":      {MTU: 9000, Reverse: &Impairment{}, FinishedChecksums: true},
		"shaped":              {Shape: Shape{Rate: 1e9}},
		"shaped above 4 GB/s": {Shape: Shape{Rate: 40e9}},
		"routed":              {Router: true},
		"routed and shaped":   {Router: true, Shape: Shape{Rate: 1e9}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			l1, l2 := newLab(t, c), newLab(t, c)
			for _, l := range []*Lab{l1, l2} {
				echo(t, l.A(), l.B(), l.B().Addr4)
				echo(t, l.A(), l.B(), l.B().Addr6)
				echo(t, l.B(), l.A(), l.A().Addr4)
				echo(t, l.B(), l.A(), l.A().Addr6)
				if !c.Router {
					echo(t, l.A(), l.B(), l.B().LinkLocal.WithZone("eth0"))
				}
			}
			// What one lab's b is sent stays out of the other's.
			stranger := listen(t, l2.B(), l2.B().Addr4, testPort)
			from, to := open(t, l1.A(), l1.B(), l1.B().Addr4)
			write(t, to, payload(probe.MagicEnd, 0, 0))
			collect(t, from)
			silent(t, stranger)
			if diff := cmp.Diff(before, interfaces(t)); diff != "" {
				t.Errorf("the machine's interfaces (-before +during):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(before, interfaces(t)); diff != "" {
		t.Errorf("the machine's interfaces (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(ns, threads(t)); diff != "" {
		t.Errorf("namespaces of this process (-before +after):\n%s", diff)
	}
}

func TestHosts(t *testing.T) {
	l := newLab(t, Config{Router: true})
	type host struct{ name, iface, mac, v4, v6, local string }
	var got []host
	for _, h := range []*Host{l.A(), l.B(), l.Middle()} {
		got = append(got, host{h.Name, h.Interface, h.MAC.String(), h.Addr4.String(), h.Addr6.String(), h.LinkLocal.String()})
	}
	want := []host{
		{"a", "eth0", "02:77:00:00:00:01", "10.77.1.1", "fd77:1::1", "fe80::1"},
		{"b", "eth0", "02:77:00:00:00:02", "10.77.2.1", "fd77:2::1", "fe80::2"},
		{"m", "ma", "02:77:00:00:00:0a", "10.77.1.254", "fd77:1::254", "fe80::254"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(host{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l = newLab(t, Config{})
	if l.Middle() != nil {
		t.Error("a direct lab has a middle host")
	}
	if _, _, err := l.Impaired(); err == nil {
		t.Error("a direct lab counts impairments")
	}
	if _, _, err := l.ShapeDrops(); err == nil {
		t.Error("a direct lab counts a shape's drops")
	}
	if err := l.SetOutage(true); err == nil {
		t.Error("a direct lab has an outage")
	}
}

// The largest datagram of the MTU passes whole, and a larger one is refused.
func TestMTU(t *testing.T) {
	for _, c := range []Config{{}, {MTU: 9000}, {MTU: 9000, Impair: &Impairment{}}, {MTU: 9000, Router: true}} {
		mtu := max(c.MTU, 1500)
		l := newLab(t, c)
		for _, addr := range []netip.Addr{l.B().Addr4, l.B().Addr6} {
			from, to := open(t, l.A(), l.B(), addr)
			raw, err := to.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			raw.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
				if addr.Is6() {
					err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			size := mtu - 20 - 8
			if addr.Is6() {
				size -= 20
			}
			write(t, to, make([]byte, size))
			if _, err := to.Write(make([]byte, size+1)); !errors.Is(err, unix.EMSGSIZE) {
				t.Errorf("%d bytes to %s: %v, want EMSGSIZE", size+1, addr, err)
			}
			from.SetReadDeadline(time.Now().Add(5 * time.Second))
			buf := make([]byte, 10_000)
			if n, err := from.Read(buf); n != size || err != nil {
				t.Errorf("%d bytes, %v from %s, want %d", n, err, addr, size)
			}
		}
	}
}

// A link that was down, or too narrow for IPv6, works again once it is set up.
func TestSetUpAgain(t *testing.T) {
	for _, c := range []Config{{}, {Router: true}} {
		l := newLab(t, c)
		for name, spoil := range map[string]func() error{
			"down":   func() error { return l.A().SetUp("eth0", false) },
			"narrow": func() error { return errors.Join(l.A().SetMTU("eth0", 1000), l.A().SetMTU("eth0", 1500)) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			err := l.A().Do(func() error {
				conn, err := net.Dial("udp", netip.AddrPortFrom(l.B().Addr6, testPort).String())
				if err == nil {
					conn.Close()
				}
				return err
			})
			if err == nil {
				t.Errorf("%s: there is still a route to %s", name, l.B().Addr6)
			}
			if err := l.A().SetUp("eth0", true); err != nil {
				t.Fatal(err)
			}
			echo(t, l.A(), l.B(), l.B().Addr4)
			echo(t, l.A(), l.B(), l.B().Addr6)
		}
	}
}

// A shape lets its rate through and counts what it drops.
func TestShape(t *testing.T) {
	const rate, packets, size = 20e6, 400, 1472
	l := newLab(t, Config{Shape: Shape{Rate: rate, Burst: 3100, Limit: 15140}})
	from, to := open(t, l.A(), l.B(), l.B().Addr4)
	start := time.Now()
	for i := range packets { // at about five times the rate
		if ahead := time.Duration(i)*120*time.Microsecond - time.Since(start); ahead > 0 {
			time.Sleep(ahead)
		}
		write(t, to, make([]byte, size))
	}
	var arrived uint64
	var first, last time.Time
	buf := make([]byte, 2048)
	for {
		from.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := from.Read(buf); err != nil {
			break
		}
		last = time.Now()
		if arrived++; arrived == 1 {
			first = last
		}
	}
	forward, reverse, err := l.ShapeDrops()
	if err != nil {
		t.Fatal(err)
	}
	// A multicast listener report or two of the hosts' own may have been dropped too.
	if lost := packets - arrived; forward < lost || forward > lost+3 || reverse != 0 {
		t.Errorf("%d arrived of %d and %d were dropped; %d in reverse", arrived, packets, forward, reverse)
	}
	// No more than rate x time, the bucket and the queue can have passed.
	sending := last.Sub(start).Seconds()
	most := uint64((rate/8*sending + 3100 + 15140) / (size + 42))
	if arrived > most {
		t.Errorf("%d arrived within %s, at most %d fit (first after %s)", arrived, last.Sub(start), most, first.Sub(start))
	}
}

// Commands live in the host, with its /sys, and can be waited for and killed.
func TestCommands(t *testing.T) {
	l := newLab(t, Config{})
	var out bytes.Buffer
	cmd := exec.Command("ls", "/sys/class/net", "/proc/net/dev_snmp6")
	cmd.Stdout = &out
	if err := l.B().Run(cmd); err != nil {
		t.Fatal(err)
	}
	want := "/proc/net/dev_snmp6:\neth0\nlo\n\n/sys/class/net:\neth0\nlo\n"
	if got := out.String(); got != want {
		t.Errorf("ls printed %q, want %q", got, want)
	}

	var exit *exec.ExitError
	if err := l.A().Run(exec.Command("sh", "-c", "exit 7")); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("%v, want exit status 7", err)
	}
	if err := l.A().Run(exec.Command("/no/such/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cmd = exec.CommandContext(ctx, "sleep", "1000")
	if err := l.A().Start(cmd); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a killed command ended well")
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("the command ended by %v", status.Signal())
	}
}

func TestDoReportsGoexit(t *testing.T) {
	l := newLab(t, Config{})
	inner := &testing.T{}
	if err := l.A().Do(func() error { inner.FailNow(); return nil }); err == nil {
		t.Error("no error")
	}
	want := errors.New("mine")
	if err := l.A().Do(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func TestCloseTwice(t *testing.T) {
	l, err := New(Config{Impair: &Impairment{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

func TestAvailable(t *testing.T) {
	if err := available(); err != nil {
		t.Error(err)
	}
	cmd := child(t, "available")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "lab: make a network namespace: operation not permitted (needs CAP_SYS_ADMIN, or root)\n"
	if got := string(out); got != want {
		t.Errorf("without privilege: %q, want %q", got, want)
	}
}

// A watch is a namespace that gives numbers to others and so learns of their end
// without keeping them alive.
type watch struct {
	nl *netlink.Handle
	ns netns.NsHandle
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{}
	err := onThread(func() (err error) {
		if w.ns, err = netns.New(); err == nil {
			w.nl, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.nl.Close()
		w.ns.Close()
	})
	return w
}

// add watches the namespace of an open file.
func (w *watch) add(t *testing.T, fd, number int) {
	t.Helper()
	if err := w.nl.SetNetNsIdByFd(fd, number); err != nil {
		t.Fatal(err)
	}
}

// alive is how many of the watched namespaces there still are.
func (w *watch) alive(t *testing.T) (n int) {
	t.Helper()
	err := onThread(func() error {
		if err := netns.Set(w.ns); err != nil {
			return err
		}
		request := nl.NewNetlinkRequest(unix.RTM_GETNSID, unix.NLM_F_DUMP)
		request.AddData(&nl.RtGenMsg{RtGenmsg: unix.RtGenmsg{Family: unix.AF_UNSPEC}})
		answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNSID)
		n = len(answers)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// gone waits until all watched namespaces are.
func (w *watch) gone(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); w.alive(t) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d namespaces are left", w.alive(t))
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	w := newWatch(t)
	l, err := New(Config{Impair: &Impairment{DelayEvery: 2}, Shape: Shape{Rate: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range []*Host{l.A(), l.B(), l.Middle()} {
		w.add(t, int(h.ns), i)
	}
	if n := w.alive(t); n != 3 {
		t.Errorf("%d namespaces, want 3", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	w.gone(t)
}

// hold makes a lab with a command in it, says their numbers and waits to be killed.
func hold() {
	l, err := New(Config{Impair: &Impairment{DelayEvery: 2}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sleep := exec.Command("sleep", "1000")
	if err := l.B().Start(sleep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(int(l.A().ns), int(l.B().ns), int(l.Middle().ns), sleep.Process.Pid)
	io.Copy(io.Discard, os.Stdin)
}

func TestKilledHolderLeavesNothing(t *testing.T) {
	before := interfaces(t)
	holder := child(t, "hold")
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Process.Kill()
	var fds [3]int
	var sleeper int
	if _, err := fmt.Fscan(stdout, &fds[0], &fds[1], &fds[2], &sleeper); err != nil {
		t.Fatal(err)
	}
	w := newWatch(t)
	for i, fd := range fds {
		f, err := os.Open("/proc/" + strconv.Itoa(holder.Process.Pid) + "/fd/" + strconv.Itoa(fd))
		if err != nil {
			t.Fatal(err)
		}
		w.add(t, int(f.Fd()), i)
		f.Close()
	}
	if n := w.alive(t); n != 3 {
		t.Errorf("%d namespaces, want 3", n)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the holder ended by %v", err)
	}
	w.gone(t)
	if err := syscall.Kill(sleeper, 0); !errors.Is(err, syscall.ESRCH) {
		// A zombie whose new parent has not collected it yet is as good as gone.
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(sleeper) + "/stat")
		if !bytes.Contains(stat, []byte(") Z ")) && len(stat) > 0 {
			t.Errorf("the command inside lives on: %s", stat)
		}
	}
	if diff := cmp.Diff(before, interfaces(t)); diff != "" {
		t.Errorf("the machine's interfaces (-before +after):\n%s", diff)
	}
}

// available tries what New needs with a middle host, and says what is missing.
func available() error {
	l, err := New(Config{Impair: &Impairment{}})
	if err != nil {
		return err
	}
	return l.Close()
}
