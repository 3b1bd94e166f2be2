package iperf3

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Padding is how a Token is padded before RSA. The server has to expect it.
type Padding int

const (
	OAEP  Padding = iota // with SHA-1: since 3.17
	PKCS1                // PKCS #1 v1.5: up to 3.16, or later with --use-pkcs1-padding
)

// A Login is what a Token holds.
type Login struct {
	User, Password string
	Time           time.Time // the client's clock, in whole seconds
}

// Token returns the "authtoken" of Params: the login, encrypted for the server.
// A stock server takes no blanks in user or password.
func Token(login Login, server *rsa.PublicKey, padding Padding) (string, error) {
	if strings.ContainsAny(login.User+login.Password, "\n\x00") {
		return "", errors.New("the user name or password holds a line break or a NUL")
	}
	text := fmt.Appendf(nil, "user: %s\npwd:  %s\nts:   %d", login.User, login.Password, login.Time.Unix())
	encrypt := func() ([]byte, error) { return rsa.EncryptOAEP(sha1.New(), rand.Reader, server, text, nil) }
	if padding == PKCS1 {
		//lint:ignore SA1019 servers up to 3.16 know nothing else
		encrypt = func() ([]byte, error) { return rsa.EncryptPKCS1v15(rand.Reader, server, text) }
	}
	secret, err := encrypt()
	if errors.Is(err, rsa.ErrMessageTooLong) {
		return "", fmt.Errorf("user name and password are too long for a key of %d bits: shorten them or take a longer key", server.N.BitLen())
	}
	if err != nil {
		return "", fmt.Errorf("encrypting the login: %w", err)
	}
	return base64.StdEncoding.EncodeToString(secret), nil
}

// errToken is all that is said of a token that can't be read: to say more would
// help to decrypt another's (Bleichenbacher 1998).
var errToken = errors.New("the login can't be decrypted: it was made for another key")

// open decrypts a token of either padding, its base64 decoded.
func open(secret []byte, key *rsa.PrivateKey) (Login, error) {
	text, err := rsa.DecryptOAEP(sha1.New(), nil, key, secret, nil)
	if err != nil {
		//lint:ignore SA1019 clients up to 3.16 know nothing else
		text, err = rsa.DecryptPKCS1v15(nil, key, secret)
	}
	if err != nil {
		return Login{}, errToken
	}
	return parseLogin(string(text))
}

// parseLogin reads the plain text of a token.
func parseLogin(text string) (Login, error) {
	user, rest, ok1 := strings.Cut(strings.TrimPrefix(text, "user: "), "\n")
	password, stamp, ok2 := strings.Cut(strings.TrimPrefix(rest, "pwd:  "), "\n")
	seconds, err := strconv.ParseInt(strings.TrimPrefix(stamp, "ts:   "), 10, 64)
	if !ok1 || !ok2 || err != nil || !strings.HasPrefix(text, "user: ") ||
		!strings.HasPrefix(rest, "pwd:  ") || !strings.HasPrefix(stamp, "ts:   ") {
		return Login{}, errToken
	}
	return Login{User: user, Password: password, Time: time.Unix(seconds, 0)}, nil
}
