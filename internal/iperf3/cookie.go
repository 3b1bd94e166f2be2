package iperf3

import (
	"bytes"
	"crypto/rand"
)

// A Cookie names a test: 36 characters and a NUL. The control connection and
// each TCP data connection begin with it. A server takes any 37 bytes.
type Cookie [37]byte

// The alphabet of iperf3 since 3.2.
const cookieAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

// NewCookie draws one at random.
func NewCookie() Cookie {
	var c Cookie
	rand.Read(c[:]) // never fails
	for i := range c {
		c[i] = cookieAlphabet[c[i]%byte(len(cookieAlphabet))]
	}
	c[len(c)-1] = 0
	return c
}

// String returns the characters before the first NUL, as the peer sent them.
func (c Cookie) String() string {
	text, _, _ := bytes.Cut(c[:], []byte{0})
	return string(text)
}
