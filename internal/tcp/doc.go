// Package tcp carries a throughput test over TCP streams on ordinary sockets:
// it dials and listens with a test's socket options, sends and counts bytes at a
// rate or as fast as the connection takes them, and reads what the kernel knows
// of a connection.
//
// All bytes are payload of the TCP stream: no header of any layer is counted.
// On Linux the kernel tells what it gave and what it measured; elsewhere that is
// unknown and absent.
package tcp
