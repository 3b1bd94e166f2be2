package lab

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an OS thread of its own and then ends that thread, so that
// f may change the thread's namespaces for good.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// The main thread can't end, and /proc/self shows its namespaces:
			// keep it locked here, out of the way, while another runs f.
			done <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		// What f leaves by runtime.Goexit, as testing.T.FailNow does, is reported.
		err := errors.New("lab: function ended its goroutine")
		defer func() { done <- err }()
		err = f()
	}()
	return <-done
}
