package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
)

// A paramError is a value that iperf3 would refuse, in its words.
type paramError struct{ msg string }

func (e *paramError) Error() string { return "parameter error - " + e.msg }

func refuse(format string, a ...any) error { return &paramError{fmt.Sprintf(format, a...)} }

// iperf3UDPRate is the rate of UDP where -b names none, in bit/s.
const iperf3UDPRate = 1 << 20

// parseIPerf3 parses a command line in iperf3's grammar. As there, words that are
// no options are passed over.
func parseIPerf3(args []string) (*iperf3Args, error) {
	var a iperf3Args
	f := iperf3Flags(&a)
	if err := f.Parse(args); err != nil {
		return nil, asGetopt(err)
	}
	if a.help || a.version {
		return &a, nil
	}
	return &a, a.check(f)
}

// asGetopt words an error of pflag as getopt_long(3) and iperf3 do.
func asGetopt(err error) error {
	var (
		unknown *pflag.NotExistError
		bare    *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("invalid option -- '%s'", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		return fmt.Errorf("unrecognized option '--%s'", unknown.GetSpecifiedName())
	case errors.As(err, &bare) && bare.GetSpecifiedShortnames() != "":
		return fmt.Errorf("option requires an argument -- '%s'", bare.GetSpecifiedName())
	case errors.As(err, &bare):
		return fmt.Errorf("option '--%s' requires an argument", bare.GetSpecifiedName())
	case errors.As(err, &invalid):
		if refused := (*paramError)(nil); errors.As(invalid.Unwrap(), &refused) {
			return refused
		}
		return refuse("--%s: %s", invalid.GetFlag().Name, invalid.Unwrap())
	}
	return refuse("%s", err)
}

// check refuses what contradicts itself.
func (a *iperf3Args) check(f *pflag.FlagSet) error {
	given := func(name string) bool { return f.Lookup(name).Changed }
	isClient := given("client")
	switch {
	case isClient && a.server:
		return refuse("cannot be both server and client")
	case !isClient && !a.server:
		return refuse("must either be a client (-c) or server (-s)")
	}
	if i := slices.IndexFunc(iperf3ClientOnly, given); a.server && i >= 0 {
		return refuse("some option you are trying to set is client only (--%s)", iperf3ClientOnly[i])
	}
	if i := slices.IndexFunc(iperf3ServerOnly, given); isClient && i >= 0 {
		return refuse("some option you are trying to set is server only (--%s)", iperf3ServerOnly[i])
	}
	a.stream = a.stream || a.fullStream
	a.json = a.json || a.stream
	if a.server {
		if (a.privateKey == "") != (a.usersFile == "") {
			return refuse("you must specify a path to a valid RSA private key and a user credential file")
		}
		return nil
	}
	return a.checkClient(given)
}

func (a *iperf3Args) checkClient(given func(string) bool) error {
	ends := 0
	for _, name := range []string{"time", "bytes", "blockcount"} {
		if given(name) {
			ends++
		}
	}
	switch {
	case ends > 1:
		return refuse("only one test end condition (-t, -n, -k) may be specified")
	case a.reverse && a.bidir:
		return refuse("cannot be both reverse and bidirectional")
	case a.v4 && a.v6:
		return refuse("-4 and -6 contradict each other")
	case a.udp && given("length") && (a.length < 16 || a.length > 65507):
		return refuse("block size invalid (minimum = 16 bytes, maximum = 65507 bytes)")
	case given("time") && a.duration == 0:
		return refuse("--time: linerate wants an end: take -t 86400, and stop the test with Ctrl-C")
	case a.burst != 0 && !a.udp:
		return refuse("--bitrate: packets of a burst are of UDP alone")
	case a.fqRate != 0 && a.udp:
		return refuse("--fq-rate is of TCP alone: over UDP every packet is paced")
	case a.sndTimeout != 0 && a.udp:
		return refuse("--snd-timeout is of TCP alone: nothing acknowledges UDP")
	case (a.username == "") != (a.publicKey == ""):
		return refuse("you must specify a username, password, and path to a valid RSA public key")
	}
	if a.udp && !given("bitrate") {
		a.rate = iperf3UDPRate
	}
	if given("bytes") || given("blockcount") {
		a.duration = 0
	}
	return nil
}
