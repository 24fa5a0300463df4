package nethttptest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
)

// prefixTLS begins the names of trials over TLS.
const prefixTLS = "TLS: "

// secureTrials are all those for HTTP/1.1, over TLS. Each is played on one engine, and the
// engines take turns: what the engines do differently is found in clear. With the race detector,
// it is every third.
func secureTrials() (all []trial) {
	for i, tr := range slices.Concat(requestTrials, framingTrials, bodyTrials, responseTrials, streamTrials, hijackTrials, connTrials, muxTrials, fileTrials, formTrials, contextTrials, serverTrials, stateTrials) {
		if i%sampleTLS != 0 || onlyClear[tr.name] != "" {
			continue
		}
		if tr.secure, tr.turn = true, i; tr.differs != nil {
			tr.plain = tr.name
		}
		tr.name = prefixTLS + tr.name
		all = append(all, tr)
	}
	return all
}

// onlyClear are the trials that are not played over TLS, and why.
var onlyClear = map[string]string{
	"body: WriterTo and copies": "how much net/http reads before it fails depends on the records",
}

// cutsTLS are connections that servers cut.
var cutsTLS = rule{
	reason{
		"TLS: close_notify of connections that are cut",
		"A connection that Close, the end of Shutdown's context or a ConnState hook cuts before its response is complete ends " +
			"without close_notify, so that no client takes what it has received for complete (RFC 9112, 9.8). net/http sends one.",
	},
	func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			a, b := &ref.conns[i], &red.conns[i]
			whole := len(b.answers) > 0 && b.answers[len(b.answers)-1].whole
			if !whole && !slices.Contains(a.notes, withoutNotify) && slices.Contains(b.notes, withoutNotify) {
				a.notes, applied = append(slices.Clip(a.notes), withoutNotify), true
			}
		}
		return applied
	},
}

// certificates are those of servers, which clients do not verify.
var certificates = sync.OnceValue(func() []tls.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates
})

// serverTLS is the configuration of servers, clientTLS that of clients: with the key exchange
// that is the cheapest under the race detector.
func serverTLS() *tls.Config { return &tls.Config{Certificates: certificates()} }

func clientTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519}}
}

// withoutNotify is how a connection ends that net/http never ends so.
const withoutNotify = "end: without close_notify"

// A watched connection tells whether its stream has ended.
type watched struct {
	net.Conn
	ended atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil {
		w.ended.Store(true)
	}
	return n, err
}

// secure has the client speak TLS.
func (c *client) secure(config *tls.Config) error {
	over := tls.Client(&watched{Conn: c.conn}, config)
	c.over = over
	return over.Handshake()
}

// truncated reports whether an error is that the stream has ended, and TLS had not: package tls
// tells only if that is within a record.
func (c *client) truncated(err error) bool {
	over, ok := c.over.(*tls.Conn)
	return ok && (err == io.ErrUnexpectedEOF || err == io.EOF && over.NetConn().(*watched).ended.Load())
}

// half ends what the client sends. It fails only if the server was first.
func (c *client) half() {
	if over, ok := c.over.(*tls.Conn); ok {
		_ = over.CloseWrite()
	}
	_ = c.conn.CloseWrite()
}

// leave closes the connection. An answer to close_notify may come before it is closed below.
func (c *client) leave() {
	c.mu.Lock()
	c.left = true
	c.mu.Unlock()
	c.over.Close()
}

// dial connects as the clients of a run do; the caller takes what comes, and closes.
func (r *run) dial() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", r.addr.String(), patience)
	if err != nil || r.secure == nil {
		return c, err
	}
	over := tls.Client(c, r.secure)
	if err := over.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	return over, nil
}

// abort closes a connection with a reset.
func abort(c net.Conn) {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	_ = c.(*net.TCPConn).SetLinger(0) // it cannot fail on an open connection
	c.Close()
}
