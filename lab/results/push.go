package results

// Push is the result of subscribers to whom the generator published.
type Push struct {
	Subscribers int    `json:"subscribers"`
	Standing    int    `json:"standing"` // connected at the end of the window
	Topics      int    `json:"topics"`
	Due         uint64 `json:"due"`        // events of the schedule in the window
	Accepted    uint64 `json:"accepted"`   // of them, those that the server accepted
	Missed      uint64 `json:"missed"`     // by subscribers between two events, or before their first
	Duplicated  uint64 `json:"duplicated"` // or out of order
	Lost        uint64 `json:"lost"`       // not received when the run ended
}
