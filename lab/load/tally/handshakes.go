package tally

import (
	"crypto/tls"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsclient"
)

// Handshakes has the statistics of the handshakes of a run. The zero value is empty and
// ready for use.
type Handshakes struct {
	state   tlsclient.State // of the last handshake
	done    uint64
	resumed uint64
	took    *hdrhistogram.Histogram
}

// Note records a completed handshake that took took nanoseconds from the established
// connection on.
func (h *Handshakes) Note(s tlsclient.State, took int64) {
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

// Result returns the statistics; nil without any handshake.
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
