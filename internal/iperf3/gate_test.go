package iperf3

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BC-135: nobody is let in without a login, with a wrong one, or with one that was used
// before.
func TestGate(t *testing.T) {
	users, err := parseUsers(strings.NewReader(mario))
	if err != nil {
		t.Fatal(err)
	}
	g := NewGate(aKey(), users, 10*time.Second)
	now := time.Unix(1700000000, 0)
	at := func(off time.Duration) Login { return Login{"mario", "rossi", now.Add(off)} }
	early, good := token(t, at(-10*time.Second), OAEP), token(t, at(0), PKCS1)
	for _, c := range []struct {
		name, token string
		now         time.Time
		want        string // part of the error
	}{
		{"no login", "", now, "authentication required"},
		{"no token", "AAAA", now, "can't be decrypted"},
		{"unknown", token(t, Login{"luigi", "rossi", now}, OAEP), now, `"luigi" is unknown`},
		{"wrong password", token(t, Login{"mario", "bianchi", now}, OAEP), now, "wrong password"},
		{"clock behind", token(t, at(-11*time.Second), OAEP), now, "10s at most"},
		{"clock ahead", token(t, at(11*time.Second), OAEP), now, "10s at most"},
		{"just in time", early, now, ""},
		{"good", good, now, ""},
		{"replayed", good, now.Add(10 * time.Second), "used before"},
		{"replayed with a line break in it", good[:64] + "\n" + good[64:], now, "used before"},
		{"replayed too late", good, now.Add(11 * time.Second), "10s at most"},
		{"another of the same second", token(t, at(0), OAEP), now, ""},
	} {
		user, err := g.Admit(c.token, c.now)
		if c.want == "" && (err != nil || user != "mario") {
			t.Errorf("%s: %q, %v", c.name, user, err)
		}
		if c.want != "" && (err == nil || user != "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v", c.name, user, err)
		}
	}
	// What is too old anyway is forgotten.
	if _, err := g.Admit(token(t, at(time.Minute), OAEP), now.Add(time.Minute)); err != nil || len(g.admitted) != 1 {
		t.Errorf("%v, %d tokens are kept", err, len(g.admitted))
	}
}

func TestGateAdmitsOnceOfMany(t *testing.T) {
	users, err := parseUsers(strings.NewReader(mario))
	if err != nil {
		t.Fatal(err)
	}
	g, now := NewGate(aKey(), users, 10*time.Second), time.Now()
	one := token(t, Login{"mario", "rossi", now}, OAEP)
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := g.Admit(one, now); err == nil {
				admitted.Add(1)
			}
		})
	}
	all.Wait()
	if admitted.Load() != 1 {
		t.Errorf("admitted %d times", admitted.Load())
	}
}
