package spec

// Open is what the arrivals of an open loop came to: those that were due in the
// window. Due is the sum of right answers, Failed and Unfinished.
type Open struct {
	Due        uint64 `json:"due"`         // arrivals of the plan
	Sent       uint64 `json:"sent"`        // of them, by the end of the window
	Waited     uint64 `json:"waited"`      // found no connection free, those that never got one among them
	Failed     uint64 `json:"failed"`      // came to an error, and have no latency
	Unfinished uint64 `json:"unfinished"`  // without an answer when the run was over: their latency is their age then, a lower bound
	Service    string `json:"service_hdr"` // from the send to the answer; HdrHistogram V2 as in Result
	Lag        string `json:"lag_hdr"`     // from the intended send to the send
	Pacing     string `json:"pacing_hdr"`  // the part of it that was the generator's own: a connection was free
}
