package main

import (
	"context"
	"math"
	"testing"
)

// A link carries what it is shaped to, and both shapers are in its way.
func TestALinkCarriesItsShape(t *testing.T) {
	for _, shaper := range []string{"tbf", "htb"} {
		k, err := newLink(shaper, 10, 1518)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		got, err := k.carried(context.Background())
		if err != nil || math.Abs(got/k.shape-1) > 0.02 {
			t.Errorf("%s: %v of %v packets/s, %v", shaper, got, k.shape, err)
		}
	}
}
