package iperf3

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Gate admits users to a server, each token once. Any number of goroutines may
// ask it.
type Gate struct {
	key   *rsa.PrivateKey
	users Users
	skew  time.Duration

	mu sync.Mutex
	// admitted are the tokens of late, each with the time at which its own
	// stamp makes it too old. Only who knows a password can add one.
	admitted map[[sha256.Size]byte]time.Time
}

// NewGate returns a gate for the holder of key. skew is how far a client's clock may be from the
// server's, at least 1 s, since tokens carry whole seconds.
func NewGate(key *rsa.PrivateKey, users Users, skew time.Duration) *Gate {
	return &Gate{key: key, users: users, skew: skew, admitted: map[[sha256.Size]byte]time.Time{}}
}

// Admit checks the "authtoken" of a test at a time and returns whose it is. The
// error is for the server's log; the client is told Unauthorized and no more.
func (g *Gate) Admit(token string, now time.Time) (user string, err error) {
	if token == "" {
		return "", errors.New("authentication required: the client sent no login")
	}
	secret, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return "", errToken
	}
	login, err := open(secret, g.key)
	if err != nil {
		return "", err
	}
	if !g.users.Know(login.User, login.Password) {
		return "", fmt.Errorf("user %q is unknown or gave a wrong password", login.User)
	}
	if off := now.Sub(login.Time); off.Abs() > g.skew {
		return "", fmt.Errorf("the login of %q is stamped %s, and its clock may be off by %s at most", login.User, login.Time.UTC().Format(time.RFC3339), g.skew)
	}
	if !g.first(sha256.Sum256(secret), login.Time.Add(g.skew), now) {
		return "", fmt.Errorf("the login of %q was used before", login.User)
	}
	return login.User, nil
}

// first notes a token until it is too old, unless it is noted already.
func (g *Gate) first(token [sha256.Size]byte, until, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for old, end := range g.admitted {
		if now.After(end) {
			delete(g.admitted, old)
		}
	}
	if _, again := g.admitted[token]; again {
		return false
	}
	g.admitted[token] = until
	return true
}
