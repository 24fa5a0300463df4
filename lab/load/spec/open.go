package spec

// Open is the result of the arrivals of an open loop that were due in the window. Due is
// the sum of right responses, Failed and Unfinished.
type Open struct {
	Due        uint64 `json:"due"`         // arrivals of the plan
	Sent       uint64 `json:"sent"`        // of Due, by the end of the window
	Waited     uint64 `json:"waited"`      // of Due, found no connection free; includes those that never got one
	Failed     uint64 `json:"failed"`      // ended with an error: only those that timed out have a latency, their age then
	Unfinished uint64 `json:"unfinished"`  // without a response when the run ended: their latency is their age then, a lower bound
	Service    string `json:"service_hdr"` // from the send to the response; HdrHistogram V2 as in Result
	Lag        string `json:"lag_hdr"`     // from the intended send to the send
	Pacing     string `json:"pacing_hdr"`  // part of Lag that the generator itself caused: a connection was free
}
