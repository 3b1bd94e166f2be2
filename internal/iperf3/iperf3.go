// Package iperf3 is the control protocol of iperf3 3.0 to 3.21, for both roles:
// the messages on a test's control connection, what goes over UDP before the
// data, and what authentication needs. It keeps no session and opens no socket.
//
// A test's client connects over TCP, sends its cookie and then answers the
// states that the server names:
//
//	client                            server
//	cookie                   ->
//	                         <-       ParamExchange
//	Params                   ->
//	                         <-       CreateStreams
//	streams, one by one      ->
//	                         <-       TestStart, TestRunning
//	TestEnd                  ->
//	                         <-       ExchangeResults
//	Results                  ->
//	                         <-       Results, DisplayResults
//	IperfDone                ->
//
// Params and Results are JSON, and every release ignores keys that it doesn't
// know. Two linerates know each other by the key "linerate" and may then also
// send each other the state Extra.
package iperf3

const (
	// Port is the default port, of TCP and UDP alike.
	Port = 5201

	// DefaultBlockTCP is the bytes of a TCP stream's block without a "len".
	DefaultBlockTCP = 128 << 10

	// MinBlockUDP and MaxBlockUDP bound a datagram's payload in bytes, header
	// included; MaxBlockTCP bounds a TCP block.
	MinBlockUDP = 16
	MaxBlockUDP = 65507
	MaxBlockTCP = 1 << 20

	// MaxStreams bounds the streams of one direction.
	MaxStreams = 128
)

// StreamID returns the number by which both ends call the stream that was made
// as number i, from 0. iperf3 leaves out 2: it is 1, 3, 4, 5 and so on.
func StreamID(i int) int {
	if i == 0 {
		return 1
	}
	return i + 2
}
