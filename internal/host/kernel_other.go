//go:build !linux

package host

// Kernel is empty: only Linux is asked.
func Kernel() string { return "" }
