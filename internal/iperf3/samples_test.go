package iperf3

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A conversation is all that one end said on a control connection.
type conversation struct {
	client bool
	bytes  []byte
}

// samples returns the control connections of a capture of stock iperf3, each
// direction on its own.
func samples(t testing.TB, file string) []conversation {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var said []conversation
	var now *conversation // whose bytes come next
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.Contains(line, "TCP SYN") && strings.Contains(line, "(control"):
			said = append(said, conversation{client: true}, conversation{})
			now = nil
		case strings.Contains(line, " CONTROL ") && strings.Contains(line, "client -> server"):
			now = &said[len(said)-2]
		case strings.Contains(line, " CONTROL ") && strings.Contains(line, "server -> client"):
			now = &said[len(said)-1]
		case strings.HasPrefix(line, "    0") && now != nil:
			digits, _, _ := strings.Cut(line[8:], "|")
			b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
			if err != nil {
				t.Fatal(err)
			}
			now.bytes = append(now.bytes, b...)
		default:
			now = nil
		}
	}
	return said
}

// canned is a connection whose peer said this, and that notes the answers.
type canned struct {
	net.Conn
	said io.Reader
	got  bytes.Buffer
}

func (c *canned) Read(b []byte) (int, error)       { return c.said.Read(b) }
func (c *canned) Write(b []byte) (int, error)      { return c.got.Write(b) }
func (c *canned) SetReadDeadline(time.Time) error  { return nil }
func (c *canned) SetWriteDeadline(time.Time) error { return nil }
func (c *canned) Close() error                     { return nil }

func can(said []byte) (*Conn, *canned) {
	c := &canned{said: bytes.NewReader(said)}
	return NewConn(c), c
}

// repeat reads a conversation to its end and writes each message again.
func repeat(t *testing.T, said conversation) (*canned, *Params, []*Results) {
	t.Helper()
	in, from := can(said.bytes)
	out, to := can(nil)
	var params *Params
	var results []*Results
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v after %d of %d bytes", err, len(said.bytes)-from.said.(*bytes.Reader).Len(), len(said.bytes))
		}
	}
	var err error
	if said.client {
		cookie, err := in.ReadCookie()
		check(err)
		check(out.WriteCookie(cookie))
		if from.said.(*bytes.Reader).Len() == 0 {
			return to, nil, nil // turned away
		}
		params, err = in.ReadParams()
		check(err)
		check(out.WriteParams(params))
	}
	for {
		state, err2 := in.ReadState()
		if err2 == io.EOF {
			return to, params, results
		}
		check(err2)
		if state == ServerError {
			var refusal *Error
			refusal, err = in.ReadServerError()
			check(err)
			check(out.Refuse(refusal.Code, refusal.Errno))
			continue
		}
		check(out.WriteState(state))
		// The client's results follow its TestEnd, the server's its ExchangeResults.
		if state == TestEnd || state == ExchangeResults {
			r, err := in.ReadResults()
			check(err)
			check(out.WriteResults(r))
			results = append(results, r)
		}
	}
}

func TestSamplesComeOutAsTheyWent(t *testing.T) {
	files, err := filepath.Glob("testdata/hexdump-*.txt")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	withParams, withResults := 0, 0
	for _, file := range files {
		for _, said := range samples(t, file) {
			if len(said.bytes) == 0 {
				t.Fatalf("%s: an end said nothing", file)
			}
			to, params, results := repeat(t, said)
			if params != nil {
				withParams++
			}
			if len(results) == 0 {
				want := said.bytes
				if len(want) == 6 && want[1] == 0xfe {
					want = append(want, 0, 0, 0, 0) // the errno that 3.12 leaves out after a refused login
				}
				if diff := cmp.Diff(want, to.got.Bytes()); diff != "" {
					t.Errorf("%s (-said +repeated):\n%s", file, diff)
				}
				continue
			}
			// Numbers and what is always written differ in form, so read again.
			withResults++
			_, _, again := repeat(t, conversation{said.client, to.got.Bytes()})
			if diff := cmp.Diff(results, again, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
				t.Errorf("%s (-said +repeated):\n%s", file, diff)
			}
			for _, r := range results {
				if len(r.Streams) == 0 || r.Streams[0].ID != 1 || r.Streams[0].Retransmits < -1 || r.SenderHasRetransmits < -1 {
					t.Errorf("%s: %+v", file, r)
				}
			}
		}
	}
	if withParams != 7 || withResults != 8 {
		t.Errorf("%d parameters and %d results were read", withParams, withResults)
	}
}
