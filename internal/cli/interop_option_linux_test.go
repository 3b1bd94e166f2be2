package cli

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab"
)

// headersAndHello is the length of a hello with its headers, IPv4 and UDP.
const headersAndHello = 20 + 8 + 4

// A sniffer sees the IP headers of the UDP datagrams that come to a host.
type sniffer struct {
	s  *stage
	fd int
}

func (s *stage) sniff(h *lab.Host) *sniffer {
	s.Helper()
	w := &sniffer{s: s}
	err := h.Do(func() (err error) {
		w.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { unix.Close(w.fd) })
	return w
}

// tos counts what came since it was asked last, by the second byte of its header;
// datagrams of no more than a hello are left out.
func (w *sniffer) tos() map[byte]int {
	w.s.Helper()
	seen := map[byte]int{}
	b := make([]byte, 2048)
	for {
		n, _, err := unix.Recvfrom(w.fd, b, unix.MSG_DONTWAIT)
		if err == unix.EAGAIN {
			return seen
		}
		if err != nil {
			w.s.Fatal(err)
		}
		if n > headersAndHello {
			seen[b[1]]++
		}
	}
}

// TestMarking asks for marks in both roles and both directions, and looks at the wire
// (row 13, BC-146): each packet has them, and the next test, which asks for none, has
// none (BC-144).
func TestMarking(t *testing.T) {
	tests := []struct{ name, server, client, marked string }{
		{"to stock", stockServer, "linerate test 10.77.0.2 -k 50 -b 2M --path %s", "--dscp EF"},
		{"of stock", ourServer, "iperf3 -u -c 10.77.0.2 -k 50 -b 2M", "-S 0xb8"},
		{"between two", ourServer, "linerate test 10.77.0.2 -k 50 -b 2M --path %s", "--dscp 46"},
	}
	const ef = 46 << 2
	for _, test := range tests {
		for _, path := range []string{"udp", "packet"} {
			client := strings.Replace(test.client, "%s", path, 1)
			if client == test.client && path != "udp" {
				continue // stock has one path
			}
			for _, direction := range []string{"", " -R"} {
				if direction != "" && test.server == stockServer {
					continue // a stock server marks nothing over UDP
				}
				t.Run(test.name+" by "+path+direction, func(t *testing.T) {
					s := meet(t, lab.Config{})
					s.serve(test.server)
					to := s.lab.B()
					if direction != "" {
						to = s.lab.A()
					}
					w := s.sniff(to)
					s.client(0, client+direction+" "+test.marked)
					if seen := w.tos(); seen[ef] == 0 || len(seen) != 1 {
						t.Errorf("packets by their mark: %v, want all of %d", seen, ef)
					}
					s.client(0, client+direction)
					if seen := w.tos(); seen[0] == 0 || len(seen) != 1 {
						t.Errorf("packets by their mark in the next test: %v, want none marked", seen)
					}
				})
			}
		}
	}
}

// loginFiles makes the files of a login: users, private and public key.
func loginFiles(t *testing.T) (users, private, public string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hash := sha256.Sum256([]byte("{mario}" + password))
	users = write("users", fmt.Appendf(nil, "mario,%s\n", hex.EncodeToString(hash[:])))
	private = write("private", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	public = write("public", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return users, private, public
}

// TestLogin logs in, rightly, wrongly and not at all, in both roles (row 21, BC-135).
func TestLogin(t *testing.T) {
	users, private, public := loginFiles(t)
	who := func(name string) string { return " --username " + name + " --rsa-public-key-path " + public }
	tests := []struct {
		name, server, client string
		status               int
		says                 string
	}{
		{"stock, right", "iperf3 -s", "linerate test 10.77.0.2 -k 10 -b 2M --use-pkcs1-padding" + who("mario"), 0, ""},
		{"stock, wrong", "iperf3 -s", "linerate test 10.77.0.2 -k 10 -b 2M --use-pkcs1-padding" + who("luigi"), 5, "authorization"},
		{"stock, none", "iperf3 -s", "linerate test 10.77.0.2 -k 10 -b 2M", 5, "authorization"},
		{"of stock, right", "linerate serve", "iperf3 -c 10.77.0.2 -u -k 10 -b 2M" + who("mario"), 0, ""},
		{"of stock, wrong", "linerate serve", "iperf3 -c 10.77.0.2 -u -k 10 -b 2M" + who("luigi"), 1, "authorization"},
		{"of stock, none", "linerate serve", "iperf3 -c 10.77.0.2 -u -k 10 -b 2M", 1, "authorization"},
		{"right", "linerate serve", "linerate test 10.77.0.2 -k 10 -b 2M" + who("mario"), 0, ""},
		{"right by the old padding", "linerate serve", "linerate test 10.77.0.2 -k 10 -b 2M --use-pkcs1-padding" + who("mario"), 0, ""},
		{"wrong", "linerate serve", "linerate test 10.77.0.2 -k 10 -b 2M" + who("luigi"), 5, "authorization"},
		{"none", "linerate serve", "linerate test 10.77.0.2 -k 10 -b 2M", 5, "authorization"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := meet(t, lab.Config{})
			server := test.server + " --rsa-private-key-path " + private + " --authorized-users-path " + users
			if test.server == ourServer {
				server = test.server + " --rsa-private-key-path " + private + " --auth-file " + users
			}
			s.serve(server)
			p := s.client(test.status, test.client)
			if test.says != "" {
				p.oneLine(test.says)
			}
			if strings.Contains(p.out.String()+p.err.String(), password) {
				t.Error("the password is told")
			}
		})
	}
}

// TestServerOutput carries the server's own report in both roles (rows 15 and 30).
func TestServerOutput(t *testing.T) {
	s := meet(t, lab.Config{})
	stock := s.serve("iperf3 -s -1")
	if ours := s.client(0, "linerate test 10.77.0.2 --json -k 50 -b 2M --get-server-output").ours(); !strings.Contains(ours.ServerText, "0/50 (0%)") {
		t.Errorf("stock's text is %q", ours.ServerText)
	}
	stock.exit(0)
	stock = s.serve("iperf3 -s -1")
	if text := s.client(0, "linerate iperf3 -u -c 10.77.0.2 -k 50 -b 2M --get-server-output").out.String(); !strings.Contains(text, "\nServer output:\n") || !strings.Contains(text, "Accepted connection from") {
		t.Errorf("the drop-in prints %q", text)
	}
	stock.exit(0)
	stock = s.serve("iperf3 -s -1 -J")
	if ours := s.client(0, "linerate test 10.77.0.2 --json -k 50 -b 2M --get-server-output").ours(); !strings.Contains(string(ours.ServerJSON), "accepted_connection") {
		t.Errorf("stock's JSON is %q", ours.ServerJSON)
	}
	stock.exit(0)
	stock = s.serve("linerate iperf3 -s -1")
	if text := s.client(0, "iperf3 -u -c 10.77.0.2 -k 50 -b 2M --get-server-output").out.String(); !strings.Contains(text, "\nServer output:\nAccepted connection from 10.77.0.1, port ") || !strings.Contains(text, "0/50 (0%)") {
		t.Errorf("of the drop-in stock prints %q", text)
	}
	stock.exit(0)
	s.serve("linerate serve")
	if theirs := s.client(0, "iperf3 -u -J -c 10.77.0.2 -k 50 -b 2M --get-server-output").stock(); !strings.Contains(theirs.ServerText, "nothing was lost") {
		t.Errorf("our text is %q", theirs.ServerText)
	}
	if ours := s.client(0, "linerate test 10.77.0.2 --json -k 50 -b 2M --get-server-output").ours(); !strings.Contains(ours.ServerText, "nothing was lost") {
		t.Errorf("our text is %q", ours.ServerText)
	}
}

// TestAddressDialled talks to the second address of a host (row 36, BC-112): what
// comes back comes from there.
func TestAddressDialled(t *testing.T) {
	s := meet(t, lab.Config{})
	for _, args := range [][]string{{"addr", "add", "10.77.0.3/24", "dev", "eth0"}, {"addr", "add", "fd77::3/64", "dev", "eth0", "nodad"}} {
		if err := s.lab.B().Run(exec.Command("ip", args...)); err != nil {
			t.Fatal(err)
		}
	}
	s.serve("linerate serve")
	for _, host := range []string{"10.77.0.3", "fd77::3"} {
		for _, direction := range []string{"", "-R"} {
			theirs := s.client(0, fmt.Sprintf("iperf3 -J -u -c %s -b 2M -k 50 %s", host, direction)).stock()
			if theirs.Error != "" || theirs.End.Sum.Packets == 0 {
				t.Errorf("%s %s: %d packets, %s", host, direction, theirs.End.Sum.Packets, theirs.Error)
			}
			d := first(s.client(0, fmt.Sprintf("linerate test %s --json -b 2M -k 50 %s", host, direction)).ours())
			sent, _, lost := s.whole(host+direction, d)
			s.equal(host+direction, 50, sent, sent-lost)
		}
	}
}

// TestManyShortTests runs one short test after another against one server (row 28,
// BC-054): nothing is lost in any, and the server has no more open than at first.
func TestManyShortTests(t *testing.T) {
	s := meet(t, lab.Config{})
	server := s.serve("linerate serve")
	s.client(0, "linerate test 10.77.0.2 -k 10 -b 5M")
	before := server.descriptors() + idle
	for i := range 20 {
		theirs := s.client(0, "iperf3 -J -u -c 10.77.0.2 -b 5M -k 20").stock().End
		s.equal(fmt.Sprintf("test %d", i), 20, theirs.SumSent.Packets, theirs.SumReceived.Packets-theirs.SumReceived.LostPackets)
	}
	for end := time.Now().Add(patience); server.descriptors() > before; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors are open, %d were before the tests", server.descriptors(), before)
		}
	}
}

// idle descriptors are those that a program may open once, at any time.
const idle = 3

// descriptors is how many a program has open.
func (p *program) descriptors() int {
	p.s.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		p.s.Fatal(err)
	}
	return len(open)
}

// TestManyStreams has results of many streams (BC-058): each has its own.
func TestManyStreams(t *testing.T) {
	for _, n := range []uint64{54, 128} {
		for _, client := range []string{"iperf3 -J -u -c 10.77.0.2 -b 20K -l 100 -t 1 -P %d", "linerate test 10.77.0.2 --json -b 1M -l 100 -k 2000 -P %d"} {
			t.Run(fmt.Sprintf(client, n), func(t *testing.T) {
				s := meet(t, lab.Config{})
				server := s.serve("linerate serve --one-off --json")
				s.client(0, fmt.Sprintf(client, n))
				ours := server.exit(0).ours()
				s.equal("streams and flows", n, uint64(len(ours.Streams)), uint64(len(ours.Receiver.Flows)))
				s.equal("lost", ours.Receiver.Lost, 0)
			})
		}
	}
}
