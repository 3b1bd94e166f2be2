package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
)

// iperf3 is the stock program, with more arguments for the client.
func iperf3(name string, more ...string) *pair {
	return &pair{
		name: name,
		receiver: func(string, int) *exec.Cmd {
			return exec.Command("iperf3", "-s", "-1", "-J", "-p", strconv.Itoa(port))
		},
		sender: func(to string, streams int) *exec.Cmd {
			args := []string{"-c", to, "-J", "-p", strconv.Itoa(port), "-t", seconds(), "-P", strconv.Itoa(streams)}
			return exec.Command("iperf3", append(args, more...)...)
		},
		arrived: func(_, said []byte) (float64, error) {
			var report struct {
				End struct {
					Received struct {
						Bytes float64 `json:"bytes"`
					} `json:"sum_received"`
				} `json:"end"`
			}
			if err := json.Unmarshal(said, &report); err != nil {
				return 0, fmt.Errorf("iperf3's report: %w", err)
			}
			return report.End.Received.Bytes, nil
		},
	}
}
