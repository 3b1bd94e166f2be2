package result

// MTU is a row of mtu: the largest IP packets, in bytes, that arrive whole.
type MTU struct {
	Peer string `json:"peer_address"`
	// Forward and Reverse are absent where they are unknown.
	Forward *int `json:"forward_mtu,omitempty"`
	Reverse *int `json:"reverse_mtu,omitempty"`
	// ReverseAtLeast says that no larger packet could be made to come back.
	ReverseAtLeast bool `json:"reverse_at_least,omitempty"`
	Local          int  `json:"local_mtu"`          // of the interface
	Path           int  `json:"path_mtu,omitempty"` // that the kernel knows at the end
	// RefusedBy is what stopped the next larger size on the way there: here, router
	// or silence, which is a black hole. RefusedFrom is the router.
	RefusedBy   string `json:"refused_by,omitempty"`
	RefusedFrom string `json:"refused_from,omitempty"`
	// ReverseRefusedBy is what became of the next larger size on the way back:
	// fragments, or silence.
	ReverseRefusedBy string `json:"reverse_refused_by,omitempty"`
	Fragmented       bool   `json:"fragmented"` // some answer came in fragments
	Probes           int    `json:"probes"`
	Unanswered       int    `json:"unanswered"` // of them, of sizes that also passed: lost at random
}
