//go:build !linux

package host

// EffectiveCaps is empty: capabilities are Linux's.
func EffectiveCaps() (Caps, error) { return 0, nil }
