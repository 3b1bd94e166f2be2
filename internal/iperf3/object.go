package iperf3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A member is a key of one of iperf3's JSON objects, with a pointer to the field
// that holds its value.
type member struct {
	key   string
	value any // *presence, *one, *int, *int64, *float64, *string, *json.RawMessage or *[]StreamResult
	rule  rule
}

// A rule says when a member is written and whether it has to be there.
type rule int

const (
	optional rule = iota // written unless zero
	always               // written, zero or not
	required             // written, and missed by the reader
)

// A presence is true if its key is there, with whatever value. It is written as
// true.
type presence bool

// A one is true if its value is not 0. It is written as 1.
type one bool

// skip takes any JSON value and keeps nothing.
type skip struct{}

func (skip) UnmarshalJSON([]byte) error { return nil }

// decodeObject reads a JSON object into its members. Keys are told apart without
// regard to case, and of equal ones the first counts, as in iperf3. Other keys,
// and optional members of a wrong type, are passed over.
func decodeObject(b []byte, members []member) error {
	if err := json.Unmarshal(b, &skip{}); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	seen := make([]bool, len(members))
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(members, func(m member) bool { return strings.EqualFold(m.key, key.(string)) })
		if i < 0 || seen[i] {
			if err := d.Decode(&skip{}); err != nil {
				return err
			}
			continue
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		seen[i] = true
		if err := members[i].decode(raw); err != nil && members[i].rule == required {
			return fmt.Errorf("%q: %w", members[i].key, err)
		}
	}
	for i, m := range members {
		if m.rule == required && !seen[i] {
			return fmt.Errorf("%q is missing", m.key)
		}
	}
	return nil
}

// decode takes a JSON value over into the field, which stays as it is if the
// value is of a wrong type.
func (m member) decode(raw json.RawMessage) error {
	switch v := m.value.(type) {
	case *presence:
		*v = true
	case *one:
		n, err := integer(raw)
		*v = one(string(raw) == "true" || err == nil && n != 0)
	case *int:
		n, err := integer(raw)
		if err != nil {
			return err
		}
		*v = int(min(max(n, math.MinInt), math.MaxInt))
	case *int64:
		n, err := integer(raw)
		if err != nil {
			return err
		}
		*v = n
	case *float64:
		f, err := float(raw)
		if err != nil {
			return err
		}
		*v = f
	case *string:
		return json.Unmarshal(raw, v)
	case *json.RawMessage:
		*v = raw
	case *[]StreamResult:
		if raw[0] != '[' {
			return errors.New("not an array")
		}
		return json.Unmarshal(raw, v)
	}
	return nil
}

// encodeObject writes members as a compact JSON object in their order.
func encodeObject(members []member) ([]byte, error) {
	b := []byte{'{'}
	for _, m := range members {
		value, zero := m.encode()
		if zero && m.rule == optional {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", m.key, err)
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", m.key, text)
	}
	return append(b, '}'), nil
}

// encode returns the value as JSON has it, and whether it is zero.
func (m member) encode() (value any, zero bool) {
	switch v := m.value.(type) {
	case *presence:
		return true, !bool(*v)
	case *one:
		return 1, !bool(*v)
	case *int:
		return *v, *v == 0
	case *int64:
		return *v, *v == 0
	case *float64:
		return *v, *v == 0
	case *string:
		return *v, *v == ""
	case *json.RawMessage:
		return *v, len(*v) == 0
	case *[]StreamResult:
		return append([]StreamResult{}, *v...), len(*v) == 0 // null is no array
	}
	panic(fmt.Sprintf("iperf3: %q is kept as %T", m.key, m.value))
}
