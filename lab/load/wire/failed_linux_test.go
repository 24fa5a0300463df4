package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsc"
)

// Errors are explained.
func TestWords(t *testing.T) {
	odd := errors.New("odd")
	refused := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	client, err := tlsc.NewClient(tlsc.Settings{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	handshaking, _, err := client.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer handshaking.Close(nil)
	for _, c := range []struct {
		conn *tlsc.Conn // nil: HTTP/2 was to begin
		err  error
		kind tally.Kind
		want string
	}{
		{handshaking, syscall.ETIMEDOUT, tally.KindTLS, "TLS handshake: timed out"},
		{handshaking, fmt.Errorf("read: %w", syscall.ECONNRESET), tally.KindTLS, "TLS handshake: connection reset by peer"},
		{handshaking, tlsc.ErrClosed, tally.KindTLS, "TLS handshake: the server closed the connection"},
		{handshaking, tlsc.ErrNoHTTP2, tally.KindTLS, "TLS handshake: the server does not offer HTTP/2 (by ALPN)"},
		{handshaking, &tlsc.Error{Kind: tlsc.Certificate, Err: refused}, tally.KindTLS, "the server's certificate is not trusted: x509: certificate signed by unknown authority"},
		{handshaking, &tlsc.Error{Kind: tlsc.NotTLS, Err: odd}, tally.KindTLS, "TLS handshake: the server does not answer in TLS"},
		{handshaking, &tlsc.Error{Kind: tlsc.Alert, Err: odd}, tally.KindTLS, "TLS alert from the server: odd"},
		{handshaking, &tlsc.Error{Kind: tlsc.Record, Err: odd}, tally.KindTLS, "TLS: invalid data from the server: odd"},
		{handshaking, &tlsc.Error{Kind: tlsc.Handshake, Err: odd}, tally.KindTLS, "TLS handshake: odd"},
		{nil, syscall.ETIMEDOUT, tally.KindTimeout, "HTTP/2: no settings from the server in time"},
		{nil, syscall.ECONNRESET, tally.KindReset, "begin HTTP/2: connection reset by peer"},
		{nil, tlsc.ErrClosed, tally.KindClosed, "HTTP/2: the server closed the connection at once; it may not support HTTP/2"},
	} {
		if k, err := (&Conn{tls: c.conn}).Failed(c.err); k != c.kind || err.Error() != c.want {
			t.Errorf("%v: %s, %q; want %s, %q", c.err, tally.Names[k], err, tally.Names[c.kind], c.want)
		}
	}
}
