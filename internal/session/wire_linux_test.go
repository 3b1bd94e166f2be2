package session

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bpf"
	"linerate/gen"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/plan"
	"linerate/internal/probe"
	"linerate/internal/units"
)

// background runs a command in a host of a lab until the returned function ends
// it; that returns what it printed.
func background(t *testing.T, h *lab.Host, name string, args ...string) (end func() string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	stop, err := h.Background(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return func() string { stop(500 * time.Millisecond); return out.String() }
}

// capture writes what arrives at b for the test's port to a file.
func capture(t *testing.T, l *lab.Lab) (file string, end func() string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "wire.pcap")
	end = background(t, l.B(), "tcpdump", "-i", l.B().Interface, "-n", "--immediate-mode", "-B", "32768", "-U",
		"-w", file, "udp port 5201 or udp port 5001 or (vlan and udp port 5201)")
	await(t, "tcpdump", func() bool { return exec.Command("test", "-s", file).Run() == nil })
	return file, end
}

func await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for range 600 { // a busy machine takes its time
		if ready() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s did not get ready", what)
}

// tshark reads fields of the packets that a display filter picks.
func tshark(t *testing.T, file, filter string, fields ...string) []string {
	t.Helper()
	// An ephemeral source port may be some other protocol's: ours is plain data.
	args := []string{"-r", file, "-Y", filter, "-T", "fields", "-d", "udp.port==5201,data", "-d", "udp.port==5001,data",
		"-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var errs bytes.Buffer
	cmd := exec.Command("tshark", args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, errs.String())
	}
	return strings.Fields(string(out))
}

// largest is the most bytes of a path's frames with FCS, at an MTU of 9000.
func largest(p gen.Path) int {
	if p.Name == "xdp" {
		return 3000 // a page
	}
	return 9018
}

// Captures by tcpdump, decoded by tshark: as many packets as were sent, none with
// a bad checksum (BC-037), of the size that was asked for (BC-044), tagged and marked
// where that was asked for (BC-146).
func TestTsharkAgreesWithWhatIsSent(t *testing.T) {
	vlan := uint16(100)
	for _, path := range gen.Paths {
		for _, v6 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/v6=%v", path.Name, v6), func(t *testing.T) {
				t.Parallel() // tshark takes most of the time
				l, err := lab.New(lab.Config{MTU: 9000, FinishedChecksums: true})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				file, end := capture(t, l)
				stack := units.Stack{IPv6: v6}
				requests := []plan.SendRequest{
					{Payload: 18, Flows: 1}, {Payload: 19, Flows: 7}, {Frame: 1518, Flows: 64}, {Frame: largest(path), Flows: 3},
					{IMIX: plan.Mix{Name: "mix", Frames: []int{90, 594, 1518, 301}}, Flows: 5},
					{Payload: 400, TOS: 46 << 2, TTL: 9},
				}
				if path.Family == gen.Raw {
					requests = append(requests, plan.SendRequest{Payload: 18, VLAN: &vlan}, plan.SendRequest{Payload: 777, VLAN: &vlan, Flows: 3})
				}
				const each = 130
				for _, r := range requests {
					r.Path, r.Count, r.Rate, r.Burst = path.Name, each, mustRate(t, "10kpps"), 5
					speak(t, l, v6, r)
				}
				if out := end(); !strings.Contains(out, "0 packets dropped by kernel") {
					t.Fatalf("tcpdump: %s", out)
				}
				data := fmt.Sprintf("udp.payload[0:2] == %02x:%02x", probe.MagicData>>8, probe.MagicData&0xff)
				markers := fmt.Sprintf("udp.payload[0:2] == %02x:%02x", probe.MagicEnd>>8, probe.MagicEnd&0xff)
				lengths := tshark(t, file, data, "udp.length")
				if n := len(lengths); n != each*len(requests) {
					t.Errorf("tshark sees %d probes, want %d", n, each*len(requests))
				}
				if n := len(tshark(t, file, markers, "frame.number")); n == 0 || n > markersMost*len(requests) {
					t.Errorf("tshark sees %d end markers", n)
				}
				bad := "udp.checksum.status != 1 || _ws.malformed"
				if !v6 {
					bad += " || ip.checksum.status != 1 || ip.flags.df != 1"
				}
				if f := tshark(t, file, bad, "frame.number"); len(f) != 0 {
					t.Errorf("%d frames are bad, the first is %s", len(f), f[0])
				}
				sizes := map[string]int{}
				for _, s := range lengths {
					sizes[s]++
				}
				if got := sizes[strconv.Itoa(stack.PayloadBytes(1518)+8)]; got < each {
					t.Errorf("%d datagrams of 1518-byte frames, want at least %d: %v", got, each, sizes)
				}
				ttl, tos := "ip.ttl == 9", "ip.dsfield.dscp == 46"
				if v6 {
					ttl, tos = "ipv6.hlim == 9", "ipv6.tclass.dscp == 46"
				}
				if n := len(tshark(t, file, data+" && "+ttl+" && "+tos, "frame.number")); n != each {
					t.Errorf("%d packets with DSCP 46 and TTL 9, want %d", n, each)
				}
				if path.Family == gen.Raw {
					if n := len(tshark(t, file, data+" && vlan.id == 100", "frame.number")); n != 2*each {
						t.Errorf("%d tagged frames, want %d", n, 2*each)
					}
				}
			})
		}
	}
}

// markersMost is what may follow the data of a test.
const markersMost = 10

// Three counters that are not ours, or not of the code under test, at once: the
// kernel's firewall, an XDP program and tcpdump.
func TestIndependentCountersAgree(t *testing.T) {
	for _, path := range gen.Names() {
		t.Run(path, func(t *testing.T) {
			l, err := lab.New(lab.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			script := `add table ip t
add chain ip t in { type filter hook input priority 0; }
add rule ip t in udp dport 5201 udp length >= 500 counter`
			nft := exec.Command("nft", "-f", "-")
			nft.Stdin = strings.NewReader(script)
			if err := l.B().Run(nft); err != nil {
				t.Fatal(err)
			}
			var counter *bpf.Counter
			check(t, l.B().Do(func() error {
				link, err := host.LinkByName(l.B().Interface)
				if err != nil {
					return err
				}
				counter, err = bpf.AttachCounter(link.Index, bpf.Filter{Port: 5201, DataMagic: probe.MagicData, EndMagic: probe.MagicEnd})
				return err
			}))
			if t.Failed() {
				return
			}
			defer counter.Close()
			e := listen(t, l, false, nil)
			const n = 20_000
			speak(t, l, false, plan.SendRequest{Payload: 1000, Path: path, Count: n, Rate: mustRate(t, "50kpps"), Flows: 4})
			for name, rep := range e.hear() {
				if rep.Receiver.Unique != n || len(rep.Receiver.Flows) != 4 {
					t.Errorf("%s counts %d in %d flows, want %d in 4", name, rep.Receiver.Unique, len(rep.Receiver.Flows), n)
				}
			}
			c, err := counter.Load()
			check(t, err)
			if c.Data != n || c.End == 0 || c.End > markersMost {
				t.Errorf("XDP counts %+v, want %d probes", c, n)
			}
			var out bytes.Buffer
			show := exec.Command("nft", "list", "chain", "ip", "t", "in")
			show.Stdout = &out
			check(t, l.B().Run(show))
			if !regexp.MustCompile(fmt.Sprintf(`counter packets %d `, n)).MatchString(out.String()) {
				t.Errorf("the firewall counts otherwise, want %d: %s", n, out.String())
			}
		})
	}
}

// A stock iperf 2 server makes sense of our datagrams.
func TestStockIperfReportsOurDatagrams(t *testing.T) {
	for _, path := range gen.Names() {
		t.Run(path, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			l, err := lab.New(lab.Config{Impair: &lab.Impairment{Port: 5201, DropEvery: 100}})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			end := background(t, l.B(), "iperf", "-s", "-u", "-p", "5201", "-l", "1470", "-w", "4M")
			awaitPort(t, l.B(), 5201)
			speak(t, l, false, plan.SendRequest{Payload: 1470, Path: path, Count: 4000, Rate: mustRate(t, "2kpps"), Format: probe.IPerf2})
			time.Sleep(time.Second)
			out := end()
			// The server counts the FIN as a datagram, as it does its own client's.
			m := regexp.MustCompile(`(\d+)/(\d+) \(1%\)`).FindStringSubmatch(out)
			if m == nil {
				t.Fatalf("no server report:\n%s", out)
			}
			lost, _ := strconv.Atoi(m[1])
			total, _ := strconv.Atoi(m[2])
			if lost < 40 || lost > 41 || total < 4000 || total > 4001 {
				t.Errorf("iperf counts %d lost of %d, want 40 of 4000:\n%s", lost, total, out)
			}
		})
	}
}

// A stock iperf 2 client is counted by recv --format iperf2.
func TestStockIperfIsCounted(t *testing.T) {
	l, err := lab.New(lab.Config{Impair: &lab.Impairment{Port: 5201, DropFrom: 100, DropTo: 150}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := listen(t, l, false, func(r *plan.RecvRequest) { r.Format = probe.IPerf2 })
	client := exec.Command("iperf", "-u", "-c", l.B().Addr4.String(), "-p", "5201", "-l", "1000", "-b", "1000pps", "-t", "1")
	var out bytes.Buffer
	client.Stdout = &out
	check(t, l.A().Run(client))
	m := regexp.MustCompile(`Sent (\d+) datagrams`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("the client says nothing:\n%s", out.String())
	}
	sent, _ := strconv.ParseUint(m[1], 10, 64)
	for path, rep := range e.hear() {
		// What the client says that it sent is the FIN's number, one above that of
		// the last datagram, and one more.
		if r := rep.Receiver; r.Lost != 50 || r.Unique+r.Lost != sent-2 || r.LossIsLowerBound {
			t.Errorf("%s: %d arrived and %d lost, want 50 lost of %d", path, r.Unique, r.Lost, sent-2)
		}
	}
}

// awaitPort waits until something is bound to a UDP port of a host.
func awaitPort(t *testing.T, h *lab.Host, port int) {
	t.Helper()
	await(t, fmt.Sprintf("port %d", port), func() bool {
		taken := false
		check(t, h.Do(func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			taken = unix.Bind(fd, &unix.SockaddrInet4{Port: port}) == unix.EADDRINUSE
			return nil
		}))
		return taken
	})
}
