package tally

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsc"
	"github.com/redline-go/redline/lab/results"
)

// What went wrong is told in words that say what it means.
func TestWords(t *testing.T) {
	odd := errors.New("odd")
	refused := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	shaking, _, err := tlsClient(t).Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shaking.Close(nil)
	for _, c := range []struct {
		conn *tlsc.Conn // nil: HTTP/2 was to begin
		err  error
		kind Kind
		want string
	}{
		{shaking, syscall.ETIMEDOUT, KindTLS, "TLS handshake: not done in time"},
		{shaking, fmt.Errorf("read: %w", syscall.ECONNRESET), KindTLS, "TLS handshake: connection reset by peer"},
		{shaking, tlsc.ErrClosed, KindTLS, "TLS handshake: the server closed the connection"},
		{shaking, tlsc.ErrNoHTTP2, KindTLS, "TLS handshake: the server does not offer HTTP/2 (by ALPN)"},
		{shaking, &tlsc.Error{Kind: tlsc.Certificate, Err: refused}, KindTLS, "the server's certificate is not trusted: x509: certificate signed by unknown authority"},
		{shaking, &tlsc.Error{Kind: tlsc.NotTLS, Err: odd}, KindTLS, "TLS handshake: the server does not answer in TLS"},
		{shaking, &tlsc.Error{Kind: tlsc.Alert, Err: odd}, KindTLS, "the server ended TLS: odd"},
		{shaking, &tlsc.Error{Kind: tlsc.Record, Err: odd}, KindTLS, "TLS: what the server sent is broken: odd"},
		{shaking, &tlsc.Error{Kind: tlsc.Handshake, Err: odd}, KindTLS, "TLS handshake: odd"},
		{nil, syscall.ETIMEDOUT, KindTimeout, "HTTP/2: no settings of the server in time"},
		{nil, syscall.ECONNRESET, KindReset, "begin HTTP/2: connection reset by peer"},
		{nil, tlsc.ErrClosed, KindClosed, "HTTP/2: the server closed the connection at once; it may not support HTTP/2"},
	} {
		if k, err := HandshakeFailed(c.conn, c.err); k != c.kind || err.Error() != c.want {
			t.Errorf("%v: %s, %q; want %s, %q", c.err, Names[k], err, Names[c.kind], c.want)
		}
	}
}

func tlsClient(t *testing.T) *tlsc.Client {
	t.Helper()
	c, err := tlsc.NewClient(tlsc.Settings{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHandshakes(t *testing.T) {
	var h Handshakes
	if r, err := h.Result(); r != nil || err != nil {
		t.Errorf("without any: %+v, %v", r, err)
	}
	state := tlsc.State{Version: tls.VersionTLS13, Cipher: tls.TLS_AES_128_GCM_SHA256, Curve: tls.X25519, Protocol: "h2"}
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
