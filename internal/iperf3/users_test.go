package iperf3

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mario is the example of iperf3's man page: printf '{mario}rossi' | sha256sum.
const mario = "mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b"

func TestUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.csv")
	text := "# who may test\n\n" + mario + "\r\nanna , bf7a\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadUsers(path); err == nil || !strings.Contains(err.Error(), path+": line 4: ") {
		t.Errorf("a short hash: %v", err)
	}
	if err := os.WriteFile(path, []byte("# who may test\n\n"+mario+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := ReadUsers(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, password string
		want           bool
	}{
		{"mario", "rossi", true},
		{"mario", "rossi ", false},
		{"mario", "", false},
		{"Mario", "rossi", false},
		{"luigi", "rossi", false},
		{"", "", false},
	} {
		if got := users.Know(c.user, c.password); got != c.want {
			t.Errorf("%q with %q: %v", c.user, c.password, got)
		}
	}
	if _, err := ReadUsers(path + "x"); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

func TestUsersRefuseWhatIsWrong(t *testing.T) {
	for _, text := range []string{"mario", "mario,", "," + strings.Repeat("0", 64), "mario," + strings.Repeat("g", 64),
		mario + "00", mario + "\n" + mario} {
		if users, err := parseUsers(strings.NewReader(text)); err == nil {
			t.Errorf("%q holds %v", text, users)
		}
	}
}

func FuzzUsers(f *testing.F) {
	f.Add("# comment\n" + mario + "\n")
	f.Add(",\n")
	f.Fuzz(func(t *testing.T, text string) {
		users, err := parseUsers(strings.NewReader(text))
		if (err == nil) != (users != nil) {
			t.Errorf("%v with %d users", err, len(users))
		}
		for user := range users {
			if user == "" || strings.HasPrefix(user, "#") {
				t.Errorf("user %q", user)
			}
		}
	})
}
