// Package pcap reads captures of Ethernet frames and rewrites what is to be sent
// again: MAC addresses, VLAN tag, IP addresses, checksums. It reads pcap in either
// byte order with micro- or nanoseconds, also compressed by gzip, and pcapng.
package pcap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// MaxFrame bounds the bytes captured of one frame: MAXIMUM_SNAPLEN of libpcap.
// A longer one is taken for damage to the file.
const MaxFrame = 256 << 10

// A Frame is one frame of a capture.
type Frame struct {
	Data   []byte        // what was captured of it, from the destination MAC, without FCS
	Length int           // bytes that it had on the wire; more than len(Data) where the capture cut it
	At     time.Duration // after the first frame; less than the one before where the capture is out of order
}

// Cut says whether the capture holds less of the frame than was on the wire.
func (f *Frame) Cut() bool { return f.Length > len(f.Data) }

// A source is what both readers of pcapgo are.
type source interface {
	ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
}

// Read reads a whole capture. Frames count from 1 in its errors, as they do in
// other programs.
func Read(r io.Reader) (frames []Frame, err error) {
	// A damaged file can make the library reach beyond a slice.
	defer func() {
		if p := recover(); p != nil {
			frames, err = nil, fmt.Errorf("frame %d: the file is damaged: %v", len(frames)+1, p)
		}
	}()
	src, link, err := open(r)
	if err != nil {
		return nil, err
	}
	var first time.Time
	for {
		data, info, err := src.ReadPacketData()
		switch {
		case err == io.EOF:
			return frames, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("the file ends in the middle of frame %d", len(frames)+1)
		case err != nil:
			return nil, fmt.Errorf("frame %d: %w", len(frames)+1, err)
		}
		if l := link(info); l != layers.LinkTypeEthernet {
			return nil, fmt.Errorf("frame %d is of link type %v: only Ethernet frames can be sent again", len(frames)+1, l)
		}
		if len(frames) == 0 {
			first = info.Timestamp
		}
		frames = append(frames, Frame{Data: data, Length: info.Length, At: info.Timestamp.Sub(first)})
	}
}

// open tells the two formats apart. link is the link type of a frame.
func open(r io.Reader) (src source, link func(gopacket.CaptureInfo) layers.LinkType, err error) {
	buffered := bufio.NewReaderSize(r, 1<<20)
	// A pcapng file begins with a section header block, whose type reads the same
	// in either byte order (draft-ietf-opsawg-pcapng, section 4.1).
	head, err := buffered.Peek(4)
	if err != nil {
		return nil, nil, errors.New("not a capture: it has less than 4 bytes")
	}
	if bytes.Equal(head, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		ng, err := pcapgo.NewNgReader(&blocks{r: buffered}, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, nil, fmt.Errorf("not a pcapng file: %w", err)
		}
		return ng, func(info gopacket.CaptureInfo) layers.LinkType {
			return info.AncillaryData[0].(layers.LinkType)
		}, nil
	}
	old, err := pcapgo.NewReader(buffered)
	if err != nil {
		return nil, nil, fmt.Errorf("neither a pcap nor a pcapng file: %w", err)
	}
	// Some programs write frames longer than the length that the file states.
	old.SetSnaplen(MaxFrame)
	return old, func(gopacket.CaptureInfo) layers.LinkType { return old.LinkType() }, nil
}
