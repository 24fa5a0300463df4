package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
)

// Errors are explained.
func TestWords(t *testing.T) {
	odd := errors.New("odd")
	refused := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	client, err := tlsclient.NewClient(tlsclient.Settings{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	handshaking, _, err := client.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer handshaking.Close(nil)
	for _, c := range []struct {
		conn *tlsclient.Filter // nil: HTTP/2 was to begin
		err  error
		kind tally.Kind
		want string
	}{
		{handshaking, syscall.ETIMEDOUT, tally.KindTLS, "TLS handshake: timed out"},
		{handshaking, fmt.Errorf("read: %w", syscall.ECONNRESET), tally.KindTLS, "TLS handshake: connection reset by peer"},
		{handshaking, tlsclient.ErrClosed, tally.KindTLS, "TLS handshake: the server closed the connection"},
		{handshaking, tlsclient.ErrNoHTTP2, tally.KindTLS, "TLS handshake: the server does not offer HTTP/2 (by ALPN)"},
		{handshaking, &tlsclient.Error{Kind: tlsclient.Certificate, Err: refused}, tally.KindTLS, "the server's certificate is not trusted: x509: certificate signed by unknown authority"},
		{handshaking, &tlsclient.Error{Kind: tlsclient.NotTLS, Err: odd}, tally.KindTLS, "TLS handshake: the server does not answer in TLS"},
		{handshaking, &tlsclient.Error{Kind: tlsclient.Alert, Err: odd}, tally.KindTLS, "TLS alert from the server: odd"},
		{handshaking, &tlsclient.Error{Kind: tlsclient.Record, Err: odd}, tally.KindTLS, "TLS: invalid data from the server: odd"},
		{handshaking, &tlsclient.Error{Kind: tlsclient.Handshake, Err: odd}, tally.KindTLS, "TLS handshake: odd"},
		{nil, syscall.ETIMEDOUT, tally.KindTimeout, "HTTP/2: no settings from the server in time"},
		{nil, syscall.ECONNRESET, tally.KindReset, "begin HTTP/2: connection reset by peer"},
		{nil, tlsclient.ErrClosed, tally.KindClosed, "HTTP/2: the server closed the connection at once; it may not support HTTP/2"},
	} {
		if k, err := (&Conn{tls: c.conn}).Failed(c.err); k != c.kind || err.Error() != c.want {
			t.Errorf("%v: %s, %q; want %s, %q", c.err, tally.Names[k], err, tally.Names[c.kind], c.want)
		}
	}
}
