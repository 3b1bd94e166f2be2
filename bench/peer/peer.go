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

// payload is the UDP payload of a frame.
func (t *Target) payload() string { return strconv.Itoa(t.Frame - 18 - 28) }

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
			Name:    "trafgen",
			Send:    trafgen,
			Version: []string{"trafgen", "--version"},
		},
		{
			Name:    "tcpreplay -t -K",
			Send:    tcpreplay,
			Version: []string{"tcpreplay", "--version"},
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
	payload := make([]byte, t.Frame-18-28)
	binary.BigEndian.PutUint16(payload, 1)
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&eth, &ip, &udp, gopacket.Payload(payload))
	return buf.Bytes(), err
}
