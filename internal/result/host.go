package result

// Host is one end of the test: what its kernel counted and its processor did
// while the test ran. Ends exchange it, so it holds all that the ledger needs.
type Host struct {
	Role string `json:"role"` // sender, receiver
	CPU  *CPU   `json:"cpu,omitempty"`

	InterruptsPerS      *float64 `json:"interrupts_per_s,omitempty"`       // of the whole machine
	ContextSwitchesPerS *float64 `json:"context_switches_per_s,omitempty"` // of the whole machine

	Socket *Socket `json:"socket,omitempty"` // through which the test's packets went

	// Quota is the least CPU time that a control group of this process or one
	// above it may have; absent if none limits it.
	Quota *Quota `json:"quota,omitempty"`

	NIC *NIC `json:"nic,omitempty"` // the interface of the test; absent if none is known
	// Counters are the network namespace's, named as nstat(8) names them, and
	// softnet_dropped and softnet_squeezed, which are the machine's.
	Counters map[string]Counter `json:"counters,omitempty"`
	// DropReasons are the test's packets that this kernel gave up, by its name
	// for the reason; absent where the kernel could not be asked.
	DropReasons map[string]uint64 `json:"drop_reasons,omitempty"`

	// Reverse is of the second direction of --bidir, where Socket and DropReasons
	// are of the first.
	Reverse *Passage `json:"reverse,omitempty"`

	// ClockStepNS is by how much the wall clock was set during the test; absent if
	// it was not.
	ClockStepNS *int64 `json:"clock_step_ns,omitempty"`

	Kernel string `json:"kernel,omitempty"`
	Arch   string `json:"arch,omitempty"`
}

// A Passage is what a host says of the packets of the second direction alone.
type Passage struct {
	Socket      *Socket           `json:"socket,omitempty"`
	DropReasons map[string]uint64 `json:"drop_reasons,omitempty"`
}

// A Socket is what a UDP socket, or a ring in its place, says of itself.
type Socket struct {
	// Raw says that frames pass between it and the interface beneath the host's
	// own IP, which neither drops them nor counts them.
	Raw bool `json:"raw"`
	// Drops are the datagrams that a receiving UDP socket had no room for or
	// refused for their checksum; absent where there is none, or it does not tell.
	Drops       *uint64 `json:"drops,omitempty"`
	RingDrops   *uint64 `json:"ring_drops,omitempty"` // frames that a ring, or a map of the kernel's, had no room for
	WindowAsked int     `json:"window_asked_bytes,omitempty"`
	WindowGot   int     `json:"window_got_bytes,omitempty"` // in the same measure
}

// A Counter is one counter of a kernel at the start and at the end. One that was
// reset in between is absent from its map.
type Counter struct {
	Before uint64 `json:"before"`
	After  uint64 `json:"after"`
}

// NIC is one interface of a host.
type NIC struct {
	Interface string `json:"interface"`
	Driver    string `json:"driver,omitempty"`
	MTU       int    `json:"mtu"`
	SpeedBps  uint64 `json:"speed_bps,omitempty"`
	// SpeedEndBps is that at the end of the test; absent if it is the same.
	SpeedEndBps uint64 `json:"speed_end_bps,omitempty"`
	// HalfDuplex and LRO (merging on receive that forgets where packets ended) are
	// what no test should have.
	HalfDuplex bool   `json:"half_duplex,omitempty"`
	LRO        bool   `json:"lro,omitempty"`
	Qdisc      string `json:"qdisc,omitempty"` // kind of the root qdisc
	// Counters have the kernel's names (/sys/class/net/*/statistics); those that
	// begin with qdisc_ are of the root qdisc, those with ethtool_ of the driver.
	Counters map[string]Counter `json:"counters,omitempty"`
	// QdiscBacklogBytes is what waited in the root qdisc at the end.
	QdiscBacklogBytes *uint64 `json:"qdisc_backlog_bytes,omitempty"`
}

// Quota is what a control group allows a process, and what that cost it.
type Quota struct {
	Cores            float64 `json:"cores"`             // CPU time a second
	ThrottledPeriods uint64  `json:"throttled_periods"` // in which the quota was used up
	ThrottledS       float64 `json:"throttled_s"`
}

// CPU is in cores: 1 is one core busy. Process, User, System and what begins with
// BusiestThread are of this process, the rest of the machine.
type CPU struct {
	Process float64 `json:"process"`
	User    float64 `json:"user"`
	System  float64 `json:"system"`
	// BusiestThread is absent where a thread that may have been it had ended.
	BusiestThread *float64 `json:"busiest_thread,omitempty"`
	// BusiestThreadCore is the core on which that thread last ran.
	BusiestThreadCore *int `json:"busiest_thread_core,omitempty"`
	// BusiestThreadWaited is the share of the time that it was ready to run and other
	// threads had the processor; absent where the kernel does not tell.
	BusiestThreadWaited *float64 `json:"busiest_thread_waited,omitempty"`

	Softirq     *float64 `json:"softirq,omitempty"`
	BusiestCore *float64 `json:"busiest_core,omitempty"`
	// Steal is what the hypervisor gave to others of what this machine wanted.
	Steal *float64 `json:"steal,omitempty"`
	// InvoluntarySwitches is how often the kernel took this process off a processor.
	InvoluntarySwitches *int64 `json:"involuntary_switches,omitempty"`
	Cores               []Core `json:"cores,omitempty"` // in the order of their numbers
	// FrequencyHz is the mean over the cores at the end.
	FrequencyHz *float64 `json:"frequency_hz,omitempty"`
	// ThermalThrottles is how often a core was slowed for its heat.
	ThermalThrottles *uint64 `json:"thermal_throttles,omitempty"`
}

// A Core is how one core spent its time, in ratios that sum to 1. Steal is what
// the hypervisor gave to others.
type Core struct {
	Core    int     `json:"core"`
	User    float64 `json:"user"`
	System  float64 `json:"system"`
	IRQ     float64 `json:"irq"`
	Softirq float64 `json:"softirq"`
	Steal   float64 `json:"steal"`
	Idle    float64 `json:"idle"`
}
