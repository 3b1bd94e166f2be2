package iperf3

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

// Users are those who may log in, with the SHA-256 of "{user}password".
type Users map[string][sha256.Size]byte

// ReadUsers reads a file of iperf3's --authorized-users-path: a line for each,
// "user,hex". Empty lines and those that begin with # are left out.
func ReadUsers(path string) (Users, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	users, err := parseUsers(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return users, nil
}

func parseUsers(r io.Reader) (Users, error) {
	users := Users{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		user, digits, _ := strings.Cut(line, ",")
		hash, err := hex.DecodeString(strings.TrimSpace(digits))
		if user == "" || err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf(`line %d: not "user,hash" with the 64 hexadecimal digits of the SHA-256 of {user}password`, n)
		}
		if _, twice := users[user]; twice {
			return nil, fmt.Errorf("line %d: %q is there twice", n, user)
		}
		users[user] = [sha256.Size]byte(hash)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return users, nil
}

// Know tells whether the password is the user's, in a time that gives nothing
// away of either.
func (u Users) Know(user, password string) bool {
	want, known := u[user]
	got := sha256.Sum256(fmt.Appendf(nil, "{%s}%s", user, password))
	same := subtle.ConstantTimeCompare(want[:], got[:]) == 1
	return known && same
}
