package spec

// Gap is a time of the window in which something did not happen.
type Gap struct {
	At      float64 `json:"at"`      // seconds since the window began
	Seconds float64 `json:"seconds"` // its length
}

// End returns the end of the gap, in seconds since the window began.
func (g Gap) End() float64 { return g.At + g.Seconds }

// GapSum counts gaps and adds them up.
type GapSum struct {
	Times   uint64  `json:"times"`
	Seconds float64 `json:"seconds"`
}
