package diagnose

// Spend is a part of the requests' time under the highest load, by stack.
type Spend struct {
	What  string   `json:"what"`            // on the CPU, or what they wait for
	Share float64  `json:"share"`           // of the mean latency, 0 to 1
	Place Place    `json:"place"`           // in the server's code, with its part of What; empty: unknown
	Stack []string `json:"stack,omitempty"` // functions there, innermost first
}
