package greet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsc"
	"github.com/redline-go/redline/lab/results"
)

// What went wrong is told in words that say what it means.
func TestWords(t *testing.T) {
	odd := errors.New("odd")
	refused := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	shaking, _, err := client(t).Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shaking.Close(nil)
	for _, c := range []struct {
		conn *tlsc.Conn // nil: HTTP/2 was to begin
		err  error
		kind tally.Kind
		want string
	}{
		{shaking, syscall.ETIMEDOUT, tally.KindTLS, "TLS handshake: not done in time"},
		{shaking, fmt.Errorf("read: %w", syscall.ECONNRESET), tally.KindTLS, "TLS handshake: connection reset by peer"},
		{shaking, ErrClosed, tally.KindTLS, "TLS handshake: the server closed the connection"},
		{shaking, ErrNoHTTP2, tally.KindTLS, "TLS handshake: the server does not offer HTTP/2 (by ALPN)"},
		{shaking, &tlsc.Error{Kind: tlsc.Certificate, Err: refused}, tally.KindTLS, "the server's certificate is not trusted: x509: certificate signed by unknown authority"},
		{shaking, &tlsc.Error{Kind: tlsc.NotTLS, Err: odd}, tally.KindTLS, "TLS handshake: the server does not answer in TLS"},
		{shaking, &tlsc.Error{Kind: tlsc.Alert, Err: odd}, tally.KindTLS, "the server ended TLS: odd"},
		{shaking, &tlsc.Error{Kind: tlsc.Record, Err: odd}, tally.KindTLS, "TLS: what the server sent is broken: odd"},
		{shaking, &tlsc.Error{Kind: tlsc.Handshake, Err: odd}, tally.KindTLS, "TLS handshake: odd"},
		{nil, syscall.ETIMEDOUT, tally.KindTimeout, "HTTP/2: no settings of the server in time"},
		{nil, syscall.ECONNRESET, tally.KindReset, "begin HTTP/2: connection reset by peer"},
		{nil, ErrClosed, tally.KindClosed, "HTTP/2: the server closed the connection at once; it may not know it"},
	} {
		if k, err := Failed(c.conn, c.err); k != c.kind || err.Error() != c.want {
			t.Errorf("%v: %s, %q; want %s, %q", c.err, tally.Names[k], err, tally.Names[c.kind], c.want)
		}
	}
}

func client(t *testing.T) *tlsc.Client {
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
	if want := (Done{Handshakes: 2, Resumed: 1, Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", Curve: "X25519", Protocol: "h2"}); *r != want {
		t.Errorf("got %+v, want %+v", *r, want)
	}
}
