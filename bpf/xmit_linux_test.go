package bpf

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
)

// TestTransmitterGoesWithItsProcess kills one that has it loaded and attached.
func TestTransmitterGoesWithItsProcess(t *testing.T) {
	const holder = "LINERATE_TEST_HOLDS_TRANSMITTER"
	if os.Getenv(holder) != "" {
		x, err := NewTransmitter(XmitConfig{IfIndex: 1, UDP: 34})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		info, err := x.objects.Xmit.Info()
		if err != nil {
			t.Fatal(err)
		}
		id, _ := info.ID()
		fmt.Println("program", id)
		time.Sleep(time.Minute)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), holder+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	id, errID := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "program ")))
	loaded := errID == nil && exists(id)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if !loaded {
		t.Fatalf("the holder said %q", line)
	}
	for deadline := time.Now().Add(5 * time.Second); exists(id); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("program %d is still there", id)
		}
	}
}

// exists says whether the kernel has a program of an id.
func exists(id int) bool {
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	p.Close()
	return true
}
