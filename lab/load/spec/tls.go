package spec

// TLSResult is the result of the handshakes since a process began.
type TLSResult struct {
	Handshakes uint64 `json:"handshakes"` // completed
	Resumed    uint64 `json:"resumed"`    // of Handshakes, those that resumed a session
	Version    string `json:"version"`    // of the last handshake, for example "TLS 1.3"
	Cipher     string `json:"cipher"`
	Curve      string `json:"curve,omitempty"`    // of the key exchange
	Protocol   string `json:"protocol,omitempty"` // negotiated with ALPN
	Histogram  string `json:"hdr"`                // duration of each, from the established connection on; HdrHistogram V2 compressed, base64; nanoseconds
}
