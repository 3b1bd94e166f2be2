package iperf3

import (
	"encoding/binary"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func framed(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// BC-127: no length is believed beyond its bound.
func TestLengthsAreBounded(t *testing.T) {
	big := strings.Repeat(" ", maxParamsIn)
	for name, said := range map[string][]byte{
		"0":             {0, 0, 0, 0},
		"2^31-1":        {0x7f, 0xff, 0xff, 0xff, '{', '}'},
		"2^32-1":        {0xff, 0xff, 0xff, 0xff, '{', '}'},
		"65537":         framed(big + "{"),
		"half a length": {0, 0},
		"no end":        {0, 0, 0, 9, '{', '}'},
		"no JSON":       framed("udp=1"),
		"an array":      framed("[]"),
	} {
		in, _ := can(said)
		if p, err := in.ReadParams(); err == nil || !strings.HasPrefix(err.Error(), "reading the parameters: ") {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	in, _ := can(framed(big[2:] + "{}"))
	if _, err := in.ReadParams(); err != nil {
		t.Errorf("64 KiB: %v", err)
	}
	out, to := can(nil)
	if err := out.WriteParams(&Params{Title: big}); err == nil || to.got.Len() > 0 {
		t.Errorf("parameters that no peer takes: %v, %d bytes written", err, to.got.Len())
	}
}

// What a peer announces costs nothing; what it sends, some multiple of its size,
// nearly all of it garbage at once (BC-127).
func TestMemoryIsBoundedByWhatCame(t *testing.T) {
	allocated := func(said []byte) uint64 {
		in, _ := can(said)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in.ReadResults()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := allocated([]byte{0x00, 0xff, 0xff, 0xff, '{'}); n > 64<<10 {
		t.Errorf("a length of 16 MiB alone took %d bytes", n)
	}
	const size = 256 << 10
	for name, text := range map[string]string{
		"unknown keys":  `{` + strings.Repeat(`"a":1,`, size/6) + `"b":1}`,
		"one long key":  `{"` + strings.Repeat(`a`, size) + `":1}`,
		"empty streams": `{"streams":[` + strings.Repeat(`{},`, size/3) + `{}]}`,
		"nested":        `{"streams":` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + strings.Repeat(" ", size) + `}`,
		"same key":      `{` + strings.Repeat(`"streams":[],`, size/13) + `"b":1}`,
	} {
		if n := allocated(framed(text)); n > 64*size {
			t.Errorf("%s: %d bytes took %d", name, len(text), n)
		}
	}
}

// listen reads as a server or a client would whatever comes, to its end.
func listen(c *Conn, client bool) {
	if !client {
		if _, err := c.ReadCookie(); err != nil {
			return
		}
		if _, err := c.ReadParams(); err != nil {
			return
		}
	}
	for {
		state, err := c.ReadState()
		switch {
		case err != nil:
			return
		case state == ServerError:
			c.ReadServerError()
		case state == Extra:
			var v json.RawMessage
			err = c.ReadExtra(&v)
		case state == ExchangeResults || state == TestEnd:
			_, err = c.ReadResults()
		}
		if err != nil {
			return
		}
	}
}

func FuzzConversation(f *testing.F) {
	for _, file := range []string{"udp-forward", "udp-reverse", "udp-bidir-64bit", "tcp-forward", "errors"} {
		for _, said := range samples(f, "testdata/hexdump-"+file+".txt") {
			f.Add(said.bytes, !said.client)
		}
	}
	f.Add([]byte("L\x00\x00\x00\x02{}L\x00\x00\x00\x00"), true)
	f.Fuzz(func(t *testing.T, said []byte, client bool) {
		in, _ := can(said)
		listen(in, client)
	})
}
