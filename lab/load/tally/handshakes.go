package tally

import (
	"crypto/tls"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsc"
)

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
func (h *Handshakes) Result() (r *spec.TLSResult, err error) {
	if h.done == 0 {
		return nil, nil
	}
	r = &spec.TLSResult{
		Handshakes: h.done, Resumed: h.resumed, Protocol: h.state.Protocol, Curve: h.state.Curve.String(),
		Version: tls.VersionName(h.state.Version), Cipher: tls.CipherSuiteName(h.state.Cipher),
	}
	r.Histogram, err = Encode(h.took)
	return r, err
}
