package tcp

import "syscall"

// handle is how package syscall calls a socket here.
type handle = syscall.Handle
