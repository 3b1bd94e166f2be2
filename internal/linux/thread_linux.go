package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// realtime lets the calling thread run before all ordinary ones (SCHED_FIFO at
// its lowest priority, sched(7)), which needs CAP_SYS_NICE, and returns how to
// end that, on the same thread. Threads that are started from here are ordinary.
// Work that takes long must not be done so.
func realtime() (undo func(), err error) {
	const fifo, other, resetOnFork = 1, 0, 0x40000000 // <linux/sched.h>
	if err := setScheduler(fifo|resetOnFork, 1); err != nil {
		return nil, fmt.Errorf("sched_setscheduler SCHED_FIFO: %w (needs CAP_SYS_NICE)", err)
	}
	return func() { setScheduler(other, 0) }, nil
}

func setScheduler(policy uintptr, priority int32) error {
	// struct sched_param has one int.
	_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		return errno
	}
	return nil
}

// pin lets the calling thread run on one processor alone, and returns how to end
// that, on the same thread.
func pin(cpu int) (undo func(), err error) {
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return nil, fmt.Errorf("sched_setaffinity to processor %d: %w", cpu, err)
	}
	return func() { unix.SchedSetaffinity(0, &before) }, nil
}

// MayRunOn reports whether threads of this process may run on a processor, as far
// as that is known.
func MayRunOn(cpu int) bool {
	var allowed unix.CPUSet
	err := unix.SchedGetaffinity(unix.Getpid(), &allowed)
	return err != nil || allowed.IsSet(cpu)
}

// ThreadCPU returns the processor time that the calling thread has used, and
// false where that can't be known.
func ThreadCPU() (user, system time.Duration, ok bool) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &ru); err != nil {
		return 0, 0, false
	}
	return time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano()), true
}

// WakeOnTime has the calling thread run as soon as it asked to be woken: without the
// 50 µs by which the kernel may be late to save wake-ups (PR_SET_TIMERSLACK), and ahead
// of threads that are busy, as far as its share of the processor goes, by turns of
// 0.1 ms in place of some (sched_setattr(2); before Linux 6.12 that changes nothing).
func WakeOnTime() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl PR_SET_TIMERSLACK: %w", err)
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return fmt.Errorf("sched_getattr: %w", err)
	}
	attr.Runtime = uint64(100 * time.Microsecond)
	if err := unix.SchedSetAttr(0, attr, 0); err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	return nil
}

// Precede gives the calling thread a nice value of -10, by which it has nine times the
// share of an ordinary one (sched(7)). A thread that sleeps for most of the time needs
// no such share, but without it, once something short has interrupted it beside a busy
// thread, it has had more than its share of those few microseconds, and waits for the
// next tick: 4 ms at 250 Hz. A thread that was given another nice value keeps that, and
// so does one without CAP_SYS_NICE. It does not work across groups of threads: cgroups,
// or sessions where sched_autogroup_enabled is set.
func Precede() error {
	const ordinary, precedence = 20, -10 // the system call tells 20 less the nice value
	given, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return fmt.Errorf("getpriority: %w", err)
	}
	if given != ordinary {
		return nil
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, precedence); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("setpriority: %w", err)
	}
	return nil
}

// SleepUntil sleeps until the given reading of Monotonic; one that has passed
// returns at once. It allocates nothing. Signals, of which the Go runtime sends
// plenty, don't cut it short.
//
// On 32-bit machines the seconds have 31 bits, as x/sys knows only the old
// system call: enough for 68 years of uptime.
func SleepUntil(mono int64) {
	ts := unix.NsecToTimespec(max(mono, 0))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
	}
}
