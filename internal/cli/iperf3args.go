package cli

import "time"

// iperf3Args is what a command line in iperf3's grammar asks for. Zero values
// stand for what was not given, where nothing else is said.
type iperf3Args struct {
	help, version bool

	client string // HOST or HOST%DEVICE, of a client
	server bool

	// Of both ends.
	port       int // default 5201
	format     byte
	interval   time.Duration // default 1 s; 0 for one row at the end
	bind       string        // ADDRESS or ADDRESS%DEVICE
	bindDev    string
	v4, v6     bool
	verbose    bool
	json       bool
	stream     bool   // --json-stream, which takes --json in
	fullStream bool   // the whole object after the stream
	pidFile    string // to be written with this process's id
	logFile    string // to be appended to in place of standard output
	timestamps string // strftime(3) before each line
	pkcs1      bool   // pad a login as versions before 3.17 do
	affinity   int    // the one CPU to run on; -1 for any

	iperf3ClientArgs
	iperf3ServerArgs
}

// iperf3ClientArgs is what only a client can ask for.
type iperf3ClientArgs struct {
	udp            bool
	connectTimeout time.Duration
	rate           uint64 // bit/s of payload of each stream; 0 for no limit, the default of TCP
	burst          int    // packets sent back to back
	pacingTimer    time.Duration
	fqRate         uint64        // bit/s
	duration       time.Duration // default 10 s unless bytes or blocks end the test; 0 then, and for no end
	bytes, blocks  int64
	length         int // bytes of a block
	cport          int
	parallel       int // default 1
	reverse, bidir bool
	window         int // bytes of the socket buffers
	congestion     string
	mss            int
	noDelay        bool
	tos            uint8
	zeroCopy       bool
	serverOutput   bool
	omit           time.Duration
	title          string
	extraData      string
	repeating      bool          // fill blocks with a pattern that repeats
	sndTimeout     time.Duration // of unacknowledged data of TCP; 0 for the system's
	username       string
	publicKey      string // path
}

// iperf3ServerArgs is what only a server can ask for.
type iperf3ServerArgs struct {
	daemon      bool // leave the terminal
	oneOff      bool
	rateLimit   uint64 // bit/s of all streams of a test
	maxDuration time.Duration
	idleTimeout time.Duration
	privateKey  string        // path
	usersFile   string        // path
	skew        time.Duration // default 10 s
}
