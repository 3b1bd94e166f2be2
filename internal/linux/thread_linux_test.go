package linux

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onThread runs f on a thread of its own, which ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

func TestThreadCPU(t *testing.T) {
	onThread(func() {
		user, system, ok := ThreadCPU()
		if !ok {
			t.Error("unknown")
		}
		before := user + system
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		}
		user, system, _ = ThreadCPU()
		if used := user + system - before; used <= 0 || used > 60*time.Millisecond {
			t.Errorf("50 ms of spinning took %v of processor time", used)
		}
	})
}

func TestWakeOnTime(t *testing.T) {
	onThread(func() {
		if err := WakeOnTime(); err != nil {
			t.Error(err)
		}
		if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); slack != 1 || err != nil {
			t.Errorf("slack %d ns, %v, want 1", slack, err)
		}
		// Kernels before Linux 6.12 keep no slice of an ordinary thread.
		if attr, err := unix.SchedGetAttr(0, 0); err != nil || attr.Policy != unix.SCHED_NORMAL || attr.Runtime != 0 && attr.Runtime != 100_000 {
			t.Errorf("%+v, %v, want an ordinary thread with a slice of 100 us", attr, err)
		}
	})
}

// TestPrecede holds that a thread is preferred that was given no nice value, if it may
// be, and that any other keeps its own.
func TestPrecede(t *testing.T) {
	nice := func() int {
		told, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the nice value
		if err != nil {
			t.Fatal(err)
		}
		return 20 - told
	}
	onThread(func() {
		given := nice()
		want := given
		if given == 0 {
			onThread(func() { // what a thread gets that asks for it
				_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -10) // without CAP_SYS_NICE nothing changes
				want = nice()
			})
		}
		if err := Precede(); err != nil || nice() != want {
			t.Errorf("a nice value of %d, %v, want %d", nice(), err, want)
		}
	})
	onThread(func() {
		const given = 19 // which anyone may ask for
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, given); err != nil {
			t.Error(err)
		}
		if err := Precede(); err != nil || nice() != given {
			t.Errorf("a nice value of %d, %v, want the %d that it was given", nice(), err, given)
		}
	})
}

func TestSleepUntil(t *testing.T) {
	for _, d := range []time.Duration{-time.Hour, 0, time.Millisecond, 20 * time.Millisecond} {
		start := Monotonic()
		SleepUntil(start + int64(d))
		if slept := time.Duration(Monotonic() - start); slept < d || slept > max(d, 0)+2*time.Second {
			t.Errorf("slept %v, want %v", slept, d)
		}
	}
	SleepUntil(-1) // long past
}

// TestSleepUntilSignals interrupts a sleep over and over.
func TestSleepUntilSignals(t *testing.T) {
	tid := make(chan int)
	done := make(chan time.Duration)
	const d = 50 * time.Millisecond
	go onThread(func() {
		tid <- unix.Gettid()
		start := Monotonic()
		SleepUntil(start + int64(d))
		done <- time.Duration(Monotonic() - start)
	})
	thread := <-tid
	for {
		select {
		case slept := <-done:
			if slept < d {
				t.Errorf("slept %v, want %v", slept, d)
			}
			return
		case <-time.After(time.Millisecond):
			// The runtime takes SIGURG for a request to preempt, and ignores it.
			if err := unix.Tgkill(unix.Getpid(), thread, unix.SIGURG); err != nil && err != unix.ESRCH {
				t.Fatal(err)
			}
		}
	}
}

func TestSleepUntilAllocs(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { SleepUntil(Monotonic() + 1000) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
