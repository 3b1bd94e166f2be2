// Package peer drives other programs that send UDP, and linerate's own binary,
// each as a process in a host of a lab, so that all are measured alike: by what
// an XDP program on the receiving interface counts.
package peer

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// Port is the UDP port that every program sends to.
const Port = 5201

// A Target is where a program sends and what.
type Target struct {
	Interface      string
	Source, Addr   netip.Addr
	SrcMAC, DstMAC net.HardwareAddr
	Frame          int    // bytes with FCS
	Dir            string // for files that a program needs
	Linerate       string // the binary
}

// What stands around a UDP payload: Ethernet, IPv4 and UDP headers, and the FCS,
// which programs that build frames leave out.
const (
	headers = 14 + 20 + 8
	fcs     = 4
)

// payload is the UDP payload of a frame.
func (t *Target) payload() string { return strconv.Itoa(t.Frame - fcs - headers) }

// A Program sends as fast as it can on one thread.
type Program struct {
	Name   string
	Server func() *exec.Cmd // what it needs at the other end; nil for nothing
	// Send is the command that sends; an error says why it can't do this size.
	Send func(*Target) (*exec.Cmd, error)
	// Version asks the program for its version, in the first line that it prints.
	Version []string
}

// Programs are the peers, by name.
func Programs() []Program {
	return []Program{
		{
			Name:   "iperf3 -u -b 0",
			Server: func() *exec.Cmd { return exec.Command("iperf3", "-s", "-p", fmt.Sprint(Port)) },
			Send: func(t *Target) (*exec.Cmd, error) {
				return exec.Command("iperf3", "-c", t.Addr.String(), "-p", fmt.Sprint(Port), "-u", "-b", "0", "-t", "30", "-l", t.payload()), nil
			},
			Version: []string{"iperf3", "--version"},
		},
		{
			Name: "iperf -u -b 100g",
			Send: func(t *Target) (*exec.Cmd, error) {
				return exec.Command("iperf", "-c", t.Addr.String(), "-p", fmt.Sprint(Port), "-u", "-b", "100g", "-t", "30", "-l", t.payload()), nil
			},
			Version: []string{"iperf", "--version"},
		},
		{
			Name:   "nuttcp -u -Ru",
			Server: func() *exec.Cmd { return exec.Command("nuttcp", "-S", "--nofork") },
			Send: func(t *Target) (*exec.Cmd, error) {
				return exec.Command("nuttcp", "-u", "-Ru", "-p", fmt.Sprint(Port), "-l", t.payload(), "-T", "30", t.Addr.String()), nil
			},
			Version: []string{"nuttcp", "-V"},
		},
		{
			Name:    "trafgen",
			Send:    trafgen,
			Version: []string{"trafgen", "--version"},
		},
		{
			Name:    "tcpreplay -t -K",
			Send:    tcpreplay,
			Version: []string{"tcpreplay", "--version"},
		},
		{
			Name:    "testpmd net_af_packet",
			Send:    testpmd("net_af_packet"),
			Version: []string{"dpkg-query", "--show", "dpdk-dev"},
		},
		{
			Name:    "testpmd net_af_xdp",
			Send:    testpmd("net_af_xdp"),
			Version: []string{"dpkg-query", "--show", "dpdk-dev"},
		},
		{
			Name: "xdp-trafficgen",
			Send: func(t *Target) (*exec.Cmd, error) {
				if t.Frame != 64 {
					return nil, fmt.Errorf("sends 64-byte frames alone")
				}
				return exec.Command("xdp-trafficgen", "udp", t.Interface, "--dst-mac", t.DstMAC.String(), "--dst-port", fmt.Sprint(Port)), nil
			},
			Version: []string{"dpkg-query", "--show", "xdp-tools"},
		},
	}
}

// Linerate is one of our paths.
func Linerate(path string, more ...string) Program {
	return Program{
		Name: strings.Join(append([]string{"linerate", path}, more...), " "),
		Send: func(t *Target) (*exec.Cmd, error) {
			args := append([]string{"send", fmt.Sprintf("%s:%d", t.Addr, Port), "--path", path, "--rate", "max",
				"--frame", strconv.Itoa(t.Frame), "-t", "30", "-i", "0"}, more...)
			return exec.Command(t.Linerate, args...), nil
		},
		Version: nil,
	}
}

// testpmd is DPDK's generator over a driver that needs no hardware of its own. It
// has one thread that sends, and one that waits for orders.
func testpmd(driver string) func(*Target) (*exec.Cmd, error) {
	return func(t *Target) (*exec.Cmd, error) {
		if t.Frame > 1518 {
			return nil, fmt.Errorf("takes frames up to 1518 bytes from this driver")
		}
		return exec.Command("dpdk-testpmd", "--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf", "-l", "0,1",
			"--vdev", driver+"0,iface="+t.Interface, "--",
			"--forward-mode=txonly", "--txpkts="+strconv.Itoa(t.Frame-fcs), "--nb-cores=1", "--total-num-mbufs=8192", "-a", "--stats-period=1",
			"--eth-peer=0,"+t.DstMAC.String(), fmt.Sprintf("--tx-ip=%s,%s", t.Source, t.Addr), fmt.Sprintf("--tx-udp=40000,%d", Port)), nil
	}
}

// trafgen sends one constant frame from a TX ring on one processor.
func trafgen(t *Target) (*exec.Cmd, error) {
	frame, err := t.frame()
	if err != nil {
		return nil, err
	}
	text := "{"
	for i, b := range frame {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("0x%02x", b)
	}
	file := filepath.Join(t.Dir, "trafgen.cfg")
	if err := os.WriteFile(file, []byte(text+"}\n"), 0o600); err != nil {
		return nil, err
	}
	args := []string{"--in", file, "--out", t.Interface, "--cpus", "1", "--no-sock-mem"}
	if t.Frame > 1518 {
		args = append(args, "--jumbo-support")
	}
	return exec.Command("trafgen", args...), nil
}

// tcpreplay repeats a capture of one frame from memory.
func tcpreplay(t *Target) (*exec.Cmd, error) {
	file, err := capture(t)
	return exec.Command("tcpreplay", "-q", "-t", "-K", "--loop", "1000000", "-i", t.Interface, file), err
}

// capture writes one of a frame, so often that a loop over it is not what is measured.
func capture(t *Target) (string, error) {
	frame, err := t.frame()
	if err != nil {
		return "", err
	}
	file := filepath.Join(t.Dir, "tcpreplay.pcap")
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		return "", err
	}
	info := gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(frame), Length: len(frame)}
	for range 1000 {
		if err := w.WritePacket(info, frame); err != nil {
			return "", err
		}
	}
	return file, nil
}

// frame is a UDP frame to the target with a zero payload and right checksums.
func (t *Target) frame() ([]byte, error) {
	eth := layers.Ethernet{SrcMAC: t.SrcMAC, DstMAC: t.DstMAC, EthernetType: layers.EthernetTypeIPv4}
	ip := layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, Flags: layers.IPv4DontFragment,
		SrcIP: t.Source.AsSlice(), DstIP: t.Addr.AsSlice()}
	udp := layers.UDP{SrcPort: 40000, DstPort: Port}
	if err := udp.SetNetworkLayerForChecksum(&ip); err != nil {
		return nil, err
	}
	payload := make([]byte, t.Frame-fcs-headers)
	binary.BigEndian.PutUint16(payload, 1)
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&eth, &ip, &udp, gopacket.Payload(payload))
	return buf.Bytes(), err
}
