package iperf3

import (
	"fmt"
	"syscall"
)

// A Code is one of iperf3's error numbers. They are the same in every release
// that has them.
type Code int32

// The codes that a server of ours answers with, or a client of ours acts on.
const (
	None            Code = 0
	BadDuration     Code = 5
	BadStreams      Code = 6
	BadBlock        Code = 7
	BadWindow       Code = 8
	BadMSS          Code = 10
	BadOmit         Code = 12
	BadBurst        Code = 15
	BadEnd          Code = 16
	BadBlockUDP     Code = 20
	BadTOS          Code = 21
	ReverseAndBidir Code = 25
	OverRateLimit   Code = 27
	OverMaxDuration Code = 37
	BadListen       Code = 102
	UnknownMessage  Code = 110
	BadParams       Code = 114
	ServerBusy      Code = 121
	BadFlowLabel    Code = 127
	BadProtocol     Code = 131
	BadAffinity     Code = 132
	BadPacing       Code = 140
	Unauthorized    Code = 142
	NoData          Code = 144
	BadStream       Code = 200
)

// An Error is what a server reports after ServerError.
type Error struct {
	Code  Code
	Errno int32 // the server's, 0 if it gave none
}

// Error returns the code's text, and the errno's where there is one. Numbers of
// errno are read as this host's.
func (e *Error) Error() string {
	if e.Errno == 0 {
		return e.Code.String()
	}
	return fmt.Sprintf("%s: %s", e.Code, syscall.Errno(e.Errno).Error())
}

// String returns what iperf3 3.12 prints for the code, less the ": " before the
// text of errno; for codes of later releases it says the same in our words.
func (c Code) String() string {
	if text, ok := codeTexts[c]; ok {
		return text
	}
	return fmt.Sprintf("iperf3 error %d", int32(c))
}
