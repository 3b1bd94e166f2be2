// Package linux is what linerate asks of the kernel beneath the standard
// library: batches of messages for one system call, packet rings shared with
// the kernel, clocks, and the placement of threads. It holds all the unsafe code
// of the program.
//
// Clocks and threads have a portable form, so that the packages above build
// everywhere; the rest exists on Linux only.
//
// File descriptors are lent: the caller keeps them open while a batch or a ring
// uses them, and closes them afterwards. Memory that the kernel reads or writes
// outside of a system call comes from mmap, never from the Go heap.
package linux
