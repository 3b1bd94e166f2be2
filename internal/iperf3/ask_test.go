package iperf3

import (
	"testing"
	"time"
)

func TestAskIsWithinBounds(t *testing.T) {
	for _, c := range []struct {
		ask  Ask
		want Code
	}{
		{Ask{}, None},
		{Ask{Duration: int64(time.Second), Interval: int64(time.Millisecond), Bytes: 1, Payload: 1472, Burst: 1024, TTL: 255}, None},
		{Ask{Duration: -1}, BadDuration},
		{Ask{Duration: 1 << 62}, BadDuration},
		{Ask{Bytes: -1}, BadEnd},
		{Ask{Payload: -1}, BadBlockUDP},
		{Ask{Payload: MaxBlockUDP + 1}, BadBlockUDP},
		{Ask{Burst: 1025}, BadBurst},
		{Ask{TTL: 256}, BadParams},
		{Ask{Interval: 1}, BadParams}, // a billion reports a second
		{Ask{Interval: -1}, BadParams},
	} {
		if got := c.ask.Check(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.ask, got, c.want)
		}
	}
}

func TestMostJSON(t *testing.T) {
	for most, ok := range map[uint32]bool{0: true, 2: true, 1: false} {
		in, _ := can([]byte("\x00\x00\x00\x02{}"))
		in.MostJSON = most
		if _, err := in.ReadParams(); (err == nil) != ok {
			t.Errorf("2 bytes where %d are the most: %v", most, err)
		}
	}
}
