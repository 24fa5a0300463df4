package tally

import (
	"crypto/tls"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/results"
)

func TestHandshakes(t *testing.T) {
	var h Handshakes
	if r, err := h.Result(); r != nil || err != nil {
		t.Errorf("without any: %+v, %v", r, err)
	}
	state := tlsclient.State{Version: tls.VersionTLS13, Cipher: tls.TLS_AES_128_GCM_SHA256, Curve: tls.X25519, Protocol: "h2"}
	h.Note(state, 1e6)
	state.Resumed = true
	h.Note(state, 3e6)
	r, err := h.Result()
	if err != nil {
		t.Fatal(err)
	}
	took, err := results.ParseLatency(r.Histogram)
	if err != nil || took.Count != 2 {
		t.Errorf("%d times, %v", took.Count, err)
	}
	r.Histogram = ""
	if want := (spec.TLSResult{Handshakes: 2, Resumed: 1, Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", Curve: "X25519", Protocol: "h2"}); *r != want {
		t.Errorf("got %+v, want %+v", *r, want)
	}
}
