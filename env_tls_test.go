package redline_test

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// overTLS stands for the first of transports with TLS in between, in tests that run on each
// transport.
const overTLS redline.Transport = "tls"

// serverTLS is the configuration of a server.
func serverTLS() *tls.Config { return &tls.Config{Certificates: transporttest.Certificates()} }

// clientTLS is the configuration of a client: with the key exchange that is the cheapest under the race
// detector.
func clientTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}}
}

// handshake makes a TLS connection of a client's connection, which offers protocols.
func handshake(c net.Conn, protocols ...string) (*tls.Conn, error) {
	config := clientTLS()
	config.NextProtos = protocols
	secure := tls.Client(c, config)
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if err := secure.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	return secure, nil
}

// listen opens a listener of the kind that clients of r expect.
func (r *running) listen(addr string) (net.Addr, error) {
	if r.secure {
		return r.ListenTLS(addr, "", "")
	}
	return r.Listen(addr)
}

// serveOn is Serve of that kind.
func (r *running) serveOn(l net.Listener) error {
	if r.secure {
		return r.ServeTLS(l, "", "")
	}
	return r.Serve(l)
}

// url is the address of the server with its scheme.
func (r *running) url() string {
	if r.secure {
		return "https://" + r.addr.String()
	}
	return "http://" + r.addr.String()
}
