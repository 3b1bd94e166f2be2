package iperf3

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// The most bytes of JSON in a message. A stock server has taken 8192 for
// parameters since 3.18, and results of any size.
const (
	maxParamsOut = 8 << 10
	maxParamsIn  = 64 << 10
	maxResults   = 16 << 20
	maxExtra     = 16 << 20
)

// WriteParams answers ParamExchange.
func (c *Conn) WriteParams(p *Params) error {
	return c.writeJSON(nil, p, maxParamsOut, "parameters")
}

// ReadParams reads the answer to ParamExchange, of at most 64 KiB, or MostJSON.
func (c *Conn) ReadParams() (*Params, error) {
	p := &Params{}
	return p, c.readJSON(p, maxParamsIn, "parameters")
}

// WriteResults sends this end's results: the client first, then the server.
func (c *Conn) WriteResults(r *Results) error {
	return c.writeJSON(nil, r, maxResults, "results")
}

// ReadResults reads the peer's results, of at most 16 MiB, or MostJSON.
func (c *Conn) ReadResults() (*Results, error) {
	r := &Results{}
	return r, c.readJSON(r, maxResults, "results")
}

// WriteExtra sends the state Extra and v as JSON, in one piece.
func (c *Conn) WriteExtra(v any) error {
	state := Extra
	return c.writeJSON([]byte{byte(state)}, v, maxExtra, "extra message")
}

// ReadExtra reads what follows the state Extra into v, of at most 16 MiB, or
// MostJSON.
func (c *Conn) ReadExtra(v any) error {
	return c.readJSON(v, maxExtra, "extra message")
}

// writeJSON sends v with its length before it, and head before that.
func (c *Conn) writeJSON(head []byte, v any, most int, what string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	if len(text) > most {
		return fmt.Errorf("writing the %s: %d bytes of JSON, and %d is the most that a peer takes", what, len(text), most)
	}
	message := binary.BigEndian.AppendUint32(head, uint32(len(text)))
	if err := c.write(append(message, text...)); err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	return nil
}

// readJSON reads a length and so much JSON. Memory grows with what comes, never
// by the length alone.
func (c *Conn) readJSON(v any, most uint32, what string) error {
	var prefix [4]byte
	if err := c.read(prefix[:]); err != nil {
		return fmt.Errorf("reading the %s: %w", what, cutOff(err))
	}
	length := binary.BigEndian.Uint32(prefix[:])
	if c.MostJSON > 0 {
		most = min(most, c.MostJSON)
	}
	if length == 0 || length > most {
		return fmt.Errorf("reading the %s: a length of %d bytes, not 1 to %d", what, length, most)
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, c.conn, int64(length)); err != nil {
		return fmt.Errorf("reading the %s: %w", what, cutOff(err))
	}
	if err := json.Unmarshal(text.Bytes(), v); err != nil {
		return fmt.Errorf("reading the %s: %w", what, err)
	}
	return nil
}
