package tally

import (
	"crypto/tls"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/tlsc"
)

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

// Handshakes is what is known of the handshakes of a run. Its zero value has seen
// none.
type Handshakes struct {
	state   tlsc.State // of the last one
	done    uint64
	resumed uint64
	took    *hdrhistogram.Histogram
}

// Note takes one that is complete, so many nanoseconds after the connection was.
func (h *Handshakes) Note(s tlsc.State, took int64) {
	if h.took == nil {
		h.took = NewHistogram()
	}
	h.state = s
	h.done++
	if s.Resumed {
		h.resumed++
	}
	Record(h.took, took, 1)
}

// Result is what they came to; nil without any.
func (h *Handshakes) Result() (r *TLSResult, err error) {
	if h.done == 0 {
		return nil, nil
	}
	r = &TLSResult{
		Handshakes: h.done, Resumed: h.resumed, Protocol: h.state.Protocol, Curve: h.state.Curve.String(),
		Version: tls.VersionName(h.state.Version), Cipher: tls.CipherSuiteName(h.state.Cipher),
	}
	r.Histogram, err = Encode(h.took)
	return r, err
}
