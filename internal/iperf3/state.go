package iperf3

import "fmt"

// A State is one byte on the control connection: what the sender has come to.
type State int8

// Values as in every release of iperf3. The remark says who sends it.
const (
	TestStart       State = 1  // server: all streams are there
	TestRunning     State = 2  // server: send
	TestEnd         State = 4  // client: time or amount is used up
	ParamExchange   State = 9  // server: send me your Params
	CreateStreams   State = 10 // server: open your streams
	ServerTerminate State = 11 // server: stopped by a signal
	ClientTerminate State = 12 // client: stopped by a signal
	ExchangeResults State = 13 // server: send me your Results
	DisplayResults  State = 14 // server: both ends have both Results
	IperfDone       State = 16 // client: closing
	AccessDenied    State = -1 // server: busy, or a data connection's cookie was wrong
	ServerError     State = -2 // server: an Error follows

	// Extra comes from either end, with a JSON message after it, at any time
	// once both showed the key "linerate". No stock peer knows it.
	Extra State = 'L'
)

var stateNames = map[State]string{
	TestStart:       "TEST_START",
	TestRunning:     "TEST_RUNNING",
	TestEnd:         "TEST_END",
	ParamExchange:   "PARAM_EXCHANGE",
	CreateStreams:   "CREATE_STREAMS",
	ServerTerminate: "SERVER_TERMINATE",
	ClientTerminate: "CLIENT_TERMINATE",
	ExchangeResults: "EXCHANGE_RESULTS",
	DisplayResults:  "DISPLAY_RESULTS",
	IperfDone:       "IPERF_DONE",
	AccessDenied:    "ACCESS_DENIED",
	ServerError:     "SERVER_ERROR",
	Extra:           "LINERATE_EXTRA",
}

// String returns the state's name as iperf3 spells it.
func (s State) String() string {
	if name, known := stateNames[s]; known {
		return name
	}
	return fmt.Sprintf("state %d", int8(s))
}
