package iperf3

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base64"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// aKey is one for all tests: making one takes a while.
var aKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func token(t testing.TB, login Login, padding Padding) string {
	t.Helper()
	token, err := Token(login, &aKey().PublicKey, padding)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// opened decrypts a token, as a Gate does.
func opened(token string, key *rsa.PrivateKey) (Login, error) {
	secret, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return Login{}, errToken
	}
	return open(secret, key)
}

func TestTokensOpen(t *testing.T) {
	for _, want := range []Login{
		{"alice", "secret", time.Unix(1700000000, 0)},
		{"", "", time.Unix(0, 0)},
		{"user: x", "pwd:  ts:   5 ö", time.Unix(-1, 0)},
	} {
		for _, padding := range []Padding{OAEP, PKCS1} {
			got, err := opened(token(t, want, padding), aKey())
			if err != nil || got != want {
				t.Errorf("%+v came out as %+v, %v", want, got, err)
			}
		}
	}
}

// OpenSSL's, as a stock client makes them.
func TestTokensOfOpenSSLOpen(t *testing.T) {
	key, err := ReadPrivateKey("testdata/login-key.pem")
	if err != nil {
		t.Fatal(err)
	}
	want := Login{"mario", "rossi", time.Unix(1700000000, 0)}
	for _, padding := range []string{"oaep", "pkcs1"} {
		token, err := os.ReadFile("testdata/login-" + padding + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := opened(string(token), key); err != nil || got != want {
			t.Errorf("%s: %+v, %v", padding, got, err)
		}
	}
}

func TestTokensThatCannotBeMade(t *testing.T) {
	for what, login := range map[string]Login{
		"line break": {User: "a", Password: "b\nts:   5"},
		"too long":   {User: "a", Password: strings.Repeat("b", 300)},
	} {
		for _, padding := range []Padding{OAEP, PKCS1} {
			if _, err := Token(login, &aKey().PublicKey, padding); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

func TestTokensThatCannotBeOpened(t *testing.T) {
	good := token(t, Login{"a", "b", time.Now()}, OAEP)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encrypt := func(text string) string {
		secret, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, &aKey().PublicKey, []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(secret)
	}
	for name, bad := range map[string]string{
		"nothing":      "",
		"no base64":    "?" + good[1:],
		"cut":          good[:len(good)-4],
		"one bit":      "AAAA" + good[4:],
		"empty text":   encrypt(""),
		"no password":  encrypt("user: a\nts:   5"),
		"no time":      encrypt("user: a\npwd:  b\n"),
		"time is text": encrypt("user: a\npwd:  b\nts:   now"),
		"one blank":    encrypt("user: a\npwd: b\nts:   5"),
	} {
		// All alike, so that nobody learns how near he came.
		if login, err := opened(bad, aKey()); err != errToken {
			t.Errorf("%s: %+v, %v", name, login, err)
		}
	}
	if login, err := opened(good, other); err != errToken {
		t.Errorf("another key: %+v, %v", login, err)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(token(f, Login{"alice", "secret", time.Unix(1700000000, 0)}, OAEP))
	f.Add(token(f, Login{"alice", "secret", time.Unix(1700000000, 0)}, PKCS1))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		if login, err := opened(token, aKey()); err != nil && (err != errToken || login != Login{}) {
			t.Errorf("%+v, %v", login, err)
		}
	})
}

func FuzzLogin(f *testing.F) {
	f.Add("user: alice\npwd:  secret\nts:   1700000000")
	f.Add("user: \npwd:  \nts:   ")
	f.Fuzz(func(t *testing.T, text string) {
		login, err := parseLogin(text)
		if err == nil && strings.Contains(login.User+login.Password, "\n") {
			t.Errorf("%q has %+v", text, login)
		}
	})
}
