package result

// A Bucket is how many values of a distribution lie from From to To ns, both
// included. Empty ones are left out.
type Bucket struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	N    uint64 `json:"n"`
}
