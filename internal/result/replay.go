package result

// Replay is the capture that replay sends, and what was changed of it.
type Replay struct {
	File   string  `json:"file"`
	Frames int     `json:"frames"`           // in the capture
	SpanS  float64 `json:"span_s,omitempty"` // from its first frame to its last; absent where a rate was asked for
	Speed  float64 `json:"speed,omitempty"`  // of its own pace; absent where a rate was asked for
	Loops  uint64  `json:"loops,omitempty"`  // times that it was to be sent; absent for no end
	Padded int     `json:"padded"`           // frames that it had cut and that were filled with zeros
	Mended int     `json:"mended"`           // frames of which it had a wrong checksum
}
