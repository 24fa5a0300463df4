package tlsio

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A directConn is a connection in memory without faults or allocations. Its client is
// connected to it by calls.
type directConn struct {
	transport.Conn
	s      *Session
	in     []byte // sent by the client, not consumed
	out    buf.Queue
	wakes  chan func(*buf.Queue) error
	client *tls.Conn
	answer [64]byte
}

func (c *directConn) Wake(f func(*buf.Queue) error) bool { c.wakes <- f; return true }
func (c *directConn) Pause(bool)                         {}
func (c *directConn) Pending() int                       { return 0 }
func (c *directConn) SetTimeout(time.Duration)           {}
func (c *directConn) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (c *directConn) LocalAddr() net.Addr                { return &net.TCPAddr{} }

// start shakes hands.
func (c *directConn) start(t *testing.T, cfg *Config) {
	c.wakes = make(chan func(*buf.Queue) error, 8)
	c.s = NewSession(c, cfg)
	c.client = tls.Client((*directClient)(c), &tls.Config{InsecureSkipVerify: true})
	if err := c.client.Handshake(); err != nil {
		t.Fatal(err)
	}
	c.exchange(t, []byte("hello\n"))
}

// exchange sends a line and reads the answer.
func (c *directConn) exchange(t *testing.T, request []byte) {
	if _, err := c.client.Write(request); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c.client, c.answer[:len(request)]); err != nil {
		t.Fatal(err)
	}
}

// A directClient is the client's side.
type directClient directConn

func (d *directClient) Write(b []byte) (int, error) {
	d.in = append(d.in, b...)
	return len(b), nil
}

func (d *directClient) Read(b []byte) (int, error) {
	c := (*directConn)(d)
	for c.out.Len() == 0 {
		if len(c.in) > 0 {
			n, err := c.s.Feed(c.in, &c.out)
			if err != nil {
				return 0, err
			}
			c.in = c.in[:copy(c.in, c.in[n:])]
		}
		if c.out.Len() == 0 {
			if err := (<-c.wakes)(&c.out); err != nil {
				return 0, err
			}
		}
	}
	n := copy(b, c.out.First())
	c.out.Discard(n)
	return n, nil
}

func (d *directClient) Close() error                     { return nil }
func (d *directClient) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (d *directClient) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (d *directClient) SetDeadline(time.Time) error      { return nil }
func (d *directClient) SetReadDeadline(time.Time) error  { return nil }
func (d *directClient) SetWriteDeadline(time.Time) error { return nil }
