package spec

// TLSResult is what the handshakes since a process began came to.
type TLSResult struct {
	Handshakes uint64 `json:"handshakes"`         // that were completed
	Resumed    uint64 `json:"resumed"`            // of them, those that resumed a session
	Version    string `json:"version"`            // of the last one, as "TLS 1.3"
	Cipher     string `json:"cipher"`             //
	Curve      string `json:"curve,omitempty"`    // of its key exchange
	Protocol   string `json:"protocol,omitempty"` // that ALPN agreed on
	Histogram  string `json:"hdr"`                // how long they took from the connection on, each; HdrHistogram V2 compressed, base64; nanoseconds
}
