package tlsio

import (
	"crypto/tls"
	"math"
	"net"
	"testing"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/std"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// serverConfig is a configuration for sessions made by newSession.
func serverConfig(newSession func(c transport.Conn) transport.Session) *Config {
	return &Config{
		TLS: &tls.Config{Certificates: transporttest.Certificates()}, Handshakes: NewHandshakes(0, 0),
		NewSession: func(c transport.Conn, _ *tls.ConnectionState) transport.Session { return newSession(c) },
	}
}

// A secured is a transport with TLS between itself and its sessions.
type secured struct{ transport.Transport }

// Each passes the inner sessions.
func (t secured) Each(f func(s transport.Session, out *buf.Queue) error, stop <-chan struct{}) {
	t.Transport.Each(func(s transport.Session, out *buf.Queue) error {
		if s := s.(*Session); s.inner != nil {
			s.begin(out)
			defer s.end()
			return s.result(f(s.inner, &s.w.out))
		}
		return nil
	}, stop)
}

// shake makes a client's connection, with the key exchange that is the cheapest under the race detector.
func shake(nc net.Conn) (net.Conn, error) {
	c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}})
	return c, c.Handshake()
}

// conformance has the suite of the transports run with TLS in between.
func conformance(t *testing.T, limits transporttest.Limits, newTransport func(c transport.Config) (transport.Transport, error)) {
	limits.Secure = shake
	transporttest.Run(t, func(c transport.Config) (transport.Transport, error) {
		cfg := serverConfig(c.NewSession)
		// The transports send what one call has left while another one runs. Output that is
		// not encrypted has to wait for that one: so all of it is here.
		cfg.HighWater = math.MaxInt
		c.NewSession = func(c transport.Conn) transport.Session { return NewSession(c, cfg) }
		tr, err := newTransport(c)
		return secured{tr}, err
	}, limits)
}

func TestConformance(t *testing.T) {
	conformance(t, transporttest.Limits{LostBehindData: true, NoTakeover: true},
		func(c transport.Config) (transport.Transport, error) { return std.New(c) })
}
