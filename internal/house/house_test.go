// Package house holds the rules of the tree as tests: which way imports run,
// where libraries and unsafe code may stand, and that every platform builds.
package house

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// listed is the part of go list -json that matters here.
type listed struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
}

func goCommand(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	return cmd
}

func list(t *testing.T) map[string]listed {
	t.Helper()
	out, err := goCommand(nil, "list", "-json=ImportPath,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, "linerate/")] = p
	}
	return packages
}

// rooms says what each package of ours may import of ours, and does.
var rooms = map[string][]string{
	"internal/result":      {},
	"internal/units":       {},
	"internal/probe":       {},
	"internal/iperf2":      {"internal/probe"},
	"internal/linux":       {},
	"internal/tally":       {},
	"internal/house":       {},
	"internal/cadence":     {},
	"internal/conformance": {},
	"internal/clock":       {},
	"internal/iperf3":      {"internal/result"},
	"internal/checksum":    {},
	"internal/pcap":        {"internal/checksum"},
	"internal/pmtu":        {"internal/checksum", "internal/probe"},
	"internal/echo":        {"internal/linux", "internal/probe"},
	"internal/ledger":      {"internal/result", "internal/units"},
	"internal/report":      {"internal/result", "internal/units"},
	"internal/host":        {"bpf", "internal/result", "internal/linux"},
	"bpf":                  {"internal/cadence"},
	"internal/lab":         {"bpf"},
	"gen/frame":            {"internal/checksum", "internal/probe"},
	"gen/pace":             {"internal/cadence", "internal/linux"},
	"gen":                  {"gen/frame", "gen/pace", "bpf", "internal/cadence", "internal/linux", "internal/probe"},
	"rx/track":             {"internal/cadence", "internal/probe"},
	"rx":                   {"rx/track", "internal/checksum", "internal/echo", "bpf", "internal/linux", "internal/probe"},
	"internal/tcp":         {"gen/pace", "internal/linux", "internal/probe", "internal/units"},
	"internal/plan":        {"internal/echo", "internal/iperf3", "internal/tcp", "internal/pcap", "gen", "gen/frame", "gen/pace", "rx", "rx/track", "internal/host", "internal/probe", "internal/result", "internal/units", "internal/linux"},
	"internal/session":     {"internal/echo", "internal/cadence", "internal/iperf2", "internal/plan", "internal/iperf3", "internal/tcp", "gen", "gen/frame", "gen/pace", "rx", "rx/track", "internal/host", "internal/ledger", "internal/linux", "internal/probe", "internal/result", "internal/units"},
	"bench":                {"bench/search", "bench/stats", "internal/pmtu", "internal/session", "internal/plan", "internal/lab", "internal/host", "internal/probe", "internal/result", "internal/units", "gen"},
	"bench/search":         {},
	"bench/stats":          {},
	"bench/model":          {},
	"bench/peer":           {},
	"bench/pacing":         {"bench/peer", "bpf", "internal/host", "internal/lab", "internal/linux", "internal/probe"},
	"bench/peers":          {"bench/peer", "bpf", "gen", "internal/host", "internal/lab", "internal/result", "rx"},
	"internal/cli":         {"internal/echo", "internal/iperf2", "internal/tcp", "bench", "gen", "rx", "internal/session", "internal/plan", "internal/lab", "internal/host", "internal/pmtu", "internal/report", "internal/probe", "internal/result", "internal/units", "internal/serve", "internal/iperf3", "internal/linux"},
	"bench/shaped":         {"bench", "bench/stats", "internal/host", "internal/lab", "internal/result", "internal/units"},
	"bench/streams":        {"internal/lab", "internal/probe", "internal/tcp"},
	"internal/serve":       {"internal/plan", "internal/session", "internal/iperf3", "internal/tcp", "internal/linux", "internal/result"},
	"cmd/linerate":         {"internal/cli"},

	// What tests alone use.
	"internal/iperf3/iperf3test": {},
	"internal/vectors":           {},
}

// fences says where a library may stand.
var fences = map[string][]string{
	"github.com/spf13/":                   {"internal/cli"},
	"github.com/cilium/ebpf":              {"bpf"},
	"github.com/google/gopacket":          {"gen/frame", "internal/pcap", "bench/peer"},
	"github.com/mdlayher/packet":          {"gen", "rx"},
	"github.com/prometheus/procfs":        {"bench/pacing", "internal/host"},
	"github.com/safchain/ethtool":         {"internal/host", "internal/lab"},
	"github.com/vishvananda/":             {"internal/host", "internal/lab"},
	"github.com/HdrHistogram/":            {"internal/cadence", "internal/echo", "rx/track"},
	"golang.org/x/term":                   {"internal/cli"},
	"golang.org/x/net/bpf":                {"rx"},
	"unsafe":                              {"internal/linux"},
	"math/rand":                           {},
	"github.com/stretchr/testify":         {},
	"github.com/google/gopacket/pcap":     {},
	"github.com/google/gopacket/afpacket": {},
}

func TestImportsRunOneWay(t *testing.T) {
	packages := list(t)
	if len(packages) < 10 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for name, p := range packages {
		allowed, known := rooms[name]
		if !known {
			t.Errorf("%s is no room of the house: add it here, with what it may import", name)
		}
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, "linerate/"); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s", name, ours)
			}
		}
		for _, ours := range allowed {
			if !slices.Contains(p.Imports, "linerate/"+ours) {
				t.Errorf("%s may import %s and does not: take it out here", name, ours)
			}
		}
	}
}

func TestLibrariesStayWhereTheyBelong(t *testing.T) {
	for name, p := range list(t) {
		for _, imported := range p.Imports {
			for library, where := range fences {
				below := strings.HasPrefix(imported+"/", strings.TrimSuffix(library, "/")+"/")
				if below && imported != "math/rand/v2" && !slices.Contains(where, name) {
					t.Errorf("%s imports %s", name, imported)
				}
			}
		}
	}
}

func TestUnixOnlyInLinuxFiles(t *testing.T) {
	for _, goos := range []string{"darwin", "windows", "freebsd"} {
		out, err := goCommand([]string{"GOOS=" + goos}, "list", "-f", "{{.ImportPath}} {{.Imports}}", "./...").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "golang.org/x/sys/unix") {
				t.Errorf("on %s: %s", goos, line)
			}
		}
	}
}

func TestEveryPlatformBuilds(t *testing.T) {
	for _, platform := range []string{
		"linux/amd64", "linux/arm64", "linux/arm", "linux/386",
		"darwin/arm64", "windows/amd64", "freebsd/amd64",
	} {
		t.Run(platform, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(platform, "/")
			env := []string{"GOOS=" + goos, "GOARCH=" + goarch}
			for _, args := range [][]string{{"build", "-o", os.DevNull, "./cmd/linerate"}, {"vet", "./..."}} {
				if out, err := goCommand(env, args...).CombinedOutput(); err != nil {
					t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
		})
	}
}

func TestSourceIsClean(t *testing.T) {
	for _, args := range [][]string{
		{"tool", "staticcheck", "./..."},
		{"mod", "tidy", "-diff"},
	} {
		if out, err := goCommand(nil, args...).CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	gofmt := exec.Command("gofmt", "-l", ".")
	gofmt.Dir = "../.."
	if out, err := gofmt.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt -l: %v\n%s", err, out)
	}
}
