package iperf3

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStockServerTakesOurLogin(t *testing.T) {
	_, private := keyFiles(t)
	users := filepath.Join(t.TempDir(), "users.csv")
	must(t, os.WriteFile(users, []byte(mario+"\n"), 0o600))
	l := newLab(t)
	_, out := stock(t, l.B(), nil, "-s", "-4", "--rsa-private-key-path", private, "--authorized-users-path", users)
	now := time.Now()
	for _, c := range []struct {
		name    string
		token   string
		refused bool
	}{
		{"none", "", true},
		{"OAEP, which 3.12 doesn't know", token(t, Login{"mario", "rossi", now}, OAEP), true},
		{"wrong password", token(t, Login{"mario", "bianchi", now}, PKCS1), true},
		{"an hour old", token(t, Login{"mario", "rossi", now.Add(-time.Hour)}, PKCS1), true},
		{"right", token(t, Login{"mario", "rossi", now}, PKCS1), false},
	} {
		control, _ := dial(t, l)
		must(t, control.WriteParams(&Params{UDP: true, Time: 1, Parallel: 1, Len: 100, AuthToken: c.token}))
		state, err := control.ReadState()
		if !c.refused {
			if state != CreateStreams || err != nil {
				t.Errorf("%s: %v, %v: %s", c.name, state, err, out)
			}
			continue
		}
		if state != ServerError || err != nil {
			t.Fatalf("%s: %v, %v", c.name, state, err)
		}
		refusal, err := control.ReadServerError() // 5 bytes from 3.12
		if err != nil || refusal.Code != Unauthorized {
			t.Errorf("%s: %v, %v", c.name, refusal, err)
		}
		must(t, control.HangUp(20*time.Second))
	}
}

func TestStockClientPassesOurGate(t *testing.T) {
	public, _ := keyFiles(t)
	users, err := parseUsers(strings.NewReader(mario))
	must(t, err)
	gate := NewGate(aKey(), users, 10*time.Second)
	l := newLab(t)
	tcp, _ := listen5201(t, l)
	for password, admitted := range map[string]bool{"rossi": true, "bianchi": false} {
		client, out := stock(t, l.A(), []string{"IPERF3_PASSWORD=" + password}, "-c", l.B().Addr4.String(), "-u", "-t", "1",
			"--username", "mario", "--rsa-public-key-path", public)
		c, _ := accept(t, tcp)
		user, err := gate.Admit(askParams(t, c).AuthToken, time.Now())
		if (user == "mario") != admitted || (err == nil) != admitted {
			t.Errorf("%s: %q, %v", password, user, err)
		}
		must(t, c.Refuse(Unauthorized, 0))
		must(t, c.HangUp(20*time.Second))
		if err := client.Wait(); err == nil || !strings.Contains(out.String(), Unauthorized.String()) {
			t.Errorf("%v: %s", err, out)
		}
	}
}
