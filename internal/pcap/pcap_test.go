package pcap

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// classic makes a pcap file in a byte order, with times in micro- or nanoseconds.
func classic(order binary.AppendByteOrder, nano bool, frames ...Frame) []byte {
	magic, unit := uint32(0xa1b2c3d4), time.Microsecond
	if nano {
		magic, unit = 0xa1b23c4d, time.Nanosecond
	}
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(order.AppendUint16(b, 2), 4)
	for _, v := range []uint32{0, 0, 96, uint32(layers.LinkTypeEthernet)} { // a length that frames exceed
		b = order.AppendUint32(b, v)
	}
	for _, f := range frames {
		at := 1_700_000_000*time.Second + f.At
		b = order.AppendUint32(b, uint32(at/time.Second))
		b = order.AppendUint32(b, uint32(at%time.Second/unit))
		b = order.AppendUint32(b, uint32(len(f.Data)))
		b = order.AppendUint32(b, uint32(f.Length))
		b = append(b, f.Data...)
	}
	return b
}

// modern makes a pcapng file.
func modern(t testing.TB, link layers.LinkType, frames ...Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriter(&b, link)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		info := gopacket.CaptureInfo{
			Timestamp: time.Unix(1_700_000_000, 0).Add(f.At), CaptureLength: len(f.Data), Length: f.Length,
		}
		if err := w.WritePacket(info, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var sample = []Frame{
	{Data: bytes.Repeat([]byte{1}, 60), Length: 60},
	{Data: bytes.Repeat([]byte{2}, 9014), Length: 9014, At: 1_234_567 * time.Microsecond},
	{Data: bytes.Repeat([]byte{3}, 96), Length: 1514, At: 1_000_000 * time.Microsecond},
}

func TestEveryFormatReadsAlike(t *testing.T) {
	fine := []Frame{sample[0], {Data: sample[1].Data, Length: 9014, At: 1_234_567_891}}
	for name, c := range map[string]struct {
		file []byte
		want []Frame
	}{
		"little-endian": {classic(binary.LittleEndian, false, sample...), sample},
		"big-endian":    {classic(binary.BigEndian, false, sample...), sample},
		"nanoseconds":   {classic(binary.LittleEndian, true, fine...), fine},
		"both":          {classic(binary.BigEndian, true, fine...), fine},
		"pcapng":        {modern(t, layers.LinkTypeEthernet, fine...), fine},
		"empty":         {classic(binary.LittleEndian, false), nil},
	} {
		got, err := Read(bytes.NewReader(c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if !sample[2].Cut() || sample[1].Cut() {
		t.Error("the cut frame is the third alone")
	}
}

// A big-endian pcapng file, by hand: a section, an interface with nanoseconds, a frame.
func TestBigEndianPcapng(t *testing.T) {
	file, err := hex.DecodeString(strings.ReplaceAll(
		"0a0d0d0a 0000001c 1a2b3c4d 00010000 ffffffffffffffff 0000001c"+
			"00000001 00000020 00010000 00040000 0009000109000000 00000000 00000020"+
			"00000006 00000030 00000000 00000000 00000064 00000010 00000010 01020304050607080910111213141516 00000030", " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(file))
	if err != nil || len(got) != 1 || len(got[0].Data) != 16 || got[0].Data[15] != 0x16 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatIsNoWholeCaptureIsRefused(t *testing.T) {
	old := classic(binary.LittleEndian, false, sample...)
	ng := modern(t, layers.LinkTypeEthernet, sample...)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":         {nil, "not a capture"},
		"text":            {[]byte(strings.Repeat("no capture at all\n", 10)), "neither a pcap nor a pcapng"},
		"pcap cut":        {old[:len(old)-1], "in the middle of frame 3"},
		"pcap cut early":  {old[:24+16+60+8], "in the middle of frame 2"},
		"pcapng cut":      {ng[:len(ng)-1], "in the middle of frame 3"},
		"pcapng cut soon": {ng[:len(ng)-1600], "in the middle of frame 2"},
		"raw IP":          {modern(t, layers.LinkTypeRaw, sample[0]), "only Ethernet"},
	} {
		if _, err := Read(bytes.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(classic(binary.LittleEndian, false, sample...))
	f.Add(classic(binary.BigEndian, true, sample...))
	f.Add(modern(f, layers.LinkTypeEthernet, sample...))
	f.Fuzz(func(t *testing.T, file []byte) {
		frames, err := Read(bytes.NewReader(file))
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %v", err)
		}
		total := 0
		for _, frame := range frames {
			total += len(frame.Data)
		}
		if compressed := bytes.HasPrefix(file, []byte{0x1f, 0x8b}); total > len(file) && !compressed {
			t.Errorf("%d bytes of frames in a file of %d", total, len(file))
		}
	})
}
