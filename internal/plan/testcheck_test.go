package plan

import (
	"errors"
	"testing"
	"time"
)

// Threads are of the end that sends UDP, and only one can leave a beginning out.
func TestThreadsOfATest(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    TestRequest
		flag string // that is refused; empty for none
	}{
		{"two that send", TestRequest{SendRequest: SendRequest{Threads: 2}}, ""},
		{"two while the server sends", TestRequest{SendRequest: SendRequest{Threads: 2}, Reverse: true}, "threads"},
		{"one while the server sends", TestRequest{SendRequest: SendRequest{Threads: 1, CPUs: []int{0}, Realtime: true}, Reverse: true}, ""},
		{"a queue while the server sends", TestRequest{SendRequest: SendRequest{Queue: 1}, Reverse: true}, "queue"},
		{"one that leaves the beginning out", TestRequest{SendRequest: SendRequest{Threads: 1}, Omit: time.Second}, ""},
		{"as many as there are processors that do", TestRequest{SendRequest: SendRequest{Threads: AutoThreads}, Omit: time.Second}, "threads"},
		{"TCP", TestRequest{SendRequest: SendRequest{Threads: 1}, TCP: true}, ""},
		{"TCP on a processor", TestRequest{SendRequest: SendRequest{CPUs: []int{0}}, TCP: true}, "cpu"},
		{"TCP before all others", TestRequest{SendRequest: SendRequest{Realtime: true}, TCP: true}, "realtime"},
	} {
		err := tt.r.check()
		var usage *UsageError
		if tt.flag == "" && err != nil || tt.flag != "" && (!errors.As(err, &usage) || usage.Flag != tt.flag) {
			t.Errorf("%s: %v, want --%s refused", tt.name, err, tt.flag)
		}
	}
}
