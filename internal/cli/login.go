package cli

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"linerate/internal/iperf3"
	"linerate/internal/plan"
)

// login is how a test shows who asks for it.
type login struct {
	user, key string
	pkcs1     bool
}

func (l *login) flags(f *pflag.FlagSet) {
	f.StringVar(&l.user, "username", "", "name to log in by; the password is taken from LINERATE_PASSWORD, or asked for")
	f.StringVar(&l.key, "rsa-public-key-path", "", "the server's public key (PEM), with --username")
	f.BoolVar(&l.pkcs1, "use-pkcs1-padding", false, "log in to an iperf3 before 3.17")
}

// apply adds a login to a request.
func (l *login) apply(r *plan.TestRequest, stdio Stdio) error {
	if l.user == "" {
		return nil
	}
	if l.key == "" {
		return &plan.UsageError{Flag: "username", Msg: "needs --rsa-public-key-path, the server's key"}
	}
	key, err := iperf3.ReadPublicKey(l.key)
	if err != nil {
		return &plan.UsageError{Flag: "rsa-public-key-path", Msg: err.Error()}
	}
	password, err := askPassword(stdio)
	if err != nil {
		return err
	}
	padding := iperf3.OAEP
	if l.pkcs1 {
		padding = iperf3.PKCS1
	}
	r.Login = &iperf3.Login{User: l.user, Password: password}
	r.Key = func(login iperf3.Login) (string, error) { return iperf3.Token(login, key, padding) }
	return nil
}

// askPassword takes the password from the environment, or else from the terminal.
func askPassword(stdio Stdio) (string, error) {
	for _, name := range []string{"LINERATE_PASSWORD", "IPERF3_PASSWORD"} {
		if p, ok := os.LookupEnv(name); ok {
			return p, nil
		}
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", &plan.UsageError{Flag: "username", Msg: "no password: set LINERATE_PASSWORD"}
	}
	fmt.Fprint(stdio.Err, "Password: ")
	b, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(stdio.Err)
	return string(b), err
}
