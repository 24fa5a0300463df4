package spec

// Subscribed is the result of the subscribers in a window, in addition to the results of all
// loads.
type Subscribed struct {
	Subscribers int     `json:"subscribers"`       // as requested
	Standing    int     `json:"standing"`          // connected at the end of the window
	Lowest      int     `json:"lowest_standing"`   // minimum of Standing in the window; of merged results the sum of the minimums, which is a lower bound
	Endless     int     `json:"endless"`           // at the end of the window inside a record that exceeds the limit
	Quiet       int     `json:"quiet"`             // connected, and without an event in the window
	Silence     float64 `json:"silence_seconds"`   // longest time without an event at the end, of the subscribers connected at the end; at most the window's length for one that never had an event
	Connect     float64 `json:"connect_seconds"`   // until all were connected, or no more connected
	Memory      uint64  `json:"memory_bytes"`      // resident set of the generator at the end of the window
	Each        float64 `json:"memory_each_bytes"` // what each subscriber added to Memory

	Events     uint64 `json:"events"`
	Stamped    uint64 `json:"stamped"`  // of Events, with a time at Subscribe.Stamp
	Numbered   uint64 `json:"numbered"` // of Events, with an integer at Subscribe.ID: only these are counted as missed or duplicated
	Missed     uint64 `json:"missed"`   // see Counts
	Duplicated uint64 `json:"duplicated"`
	Oversized  uint64 `json:"oversized"`
	Cut        uint64 `json:"cut"`
	Comments   uint64 `json:"comments"`
	Negative   uint64 `json:"negative"`
	Reconnects uint64 `json:"reconnects"`
	Ends       uint64 `json:"ends"`
	Retired    uint64 `json:"retired"`          // at the end of the window, since the run began
	Left       uint64 `json:"left,omitempty"`   // subscribers that left, see Subscribe.Churn
	Joined     uint64 `json:"joined,omitempty"` // of them, those that stood again

	Slow    *SlowHeard `json:"slow,omitempty"`    // of Subscribe.Slow: not part of the other figures
	Publish *Published `json:"publish,omitempty"` // of Subscribe.Publish

	Gap string `json:"gap_hdr,omitempty"` // between two events of a subscriber; HdrHistogram V2 compressed, base64; nanoseconds
	Lag string `json:"lag_hdr,omitempty"` // lag of reads, see package subscribe; encoded as Gap
}

// SlowHeard is the result of slow subscribers in a window.
type SlowHeard struct {
	Subscribers int    `json:"subscribers"`
	Events      uint64 `json:"events"`
	Missed      uint64 `json:"missed"`
	Duplicated  uint64 `json:"duplicated"`
	Ended       uint64 `json:"ended"` // times that one's connection ended, in whatever way
}

// Published is the result of the publishers in a window.
type Published struct {
	Topics   int               `json:"topics"`
	Due      uint64            `json:"due"`                  // events of the schedule
	Sent     uint64            `json:"sent"`                 // whose requests were sent
	Accepted uint64            `json:"accepted"`             // answered with a status of 2xx
	Errors   map[string]uint64 `json:"errors"`               // by kind, see package subscribe
	Unsent   uint64            `json:"unsent"`               // due, and not sent at the end of the window
	Lost     uint64            `json:"lost"`                 // events that subscribers connected at the end had not received after the last was published, although the generator waited; those that Missed counts are not among them
	Lag      string            `json:"lag_hdr,omitempty"`    // from when an event was due to its send; encoded as Subscribed.Gap
	Own      string            `json:"own_hdr,omitempty"`    // the part of Lag for which no earlier publish was outstanding: the generator's own lateness
	Answer   string            `json:"answer_hdr,omitempty"` // from the send to the answer
}
