package linux

import "time"

// A ClockState is what the kernel knows of the quality of its wall clock.
type ClockState struct {
	Synchronised bool          // disciplined by NTP or PTP, as adjtimex(2) says
	MaxError     time.Duration // the kernel's bound on the distance from true time
}
