package tlsc

import (
	"crypto/tls"
	"io"
	"iter"
	"net"
	"slices"
	"time"
)

// Conn is one connection. It belongs to the goroutine that started it, which must
// not change whether it is locked to its thread as long as the handshake runs.
type Conn struct {
	tls   *tls.Conn
	wire  wire
	next  func() (struct{}, bool) // goes on with the handshake; nil once it has ended
	stop  func()
	began time.Time
	state State
	ready bool
	ended bool // close_notify came
	err   *Error
}

// State is what a handshake came to.
type State struct {
	Took     time.Duration // from Start to the end of the handshake
	Version  uint16        // tls.VersionName tells its name
	Cipher   uint16        // tls.CipherSuiteName tells its name
	Curve    tls.CurveID   // of the key exchange
	Protocol string        // that ALPN agreed on; empty: none
	Resumed  bool          // an earlier session was
}

// Start begins a connection and appends its first message to out. It has to be
// ended by Close.
func (c *Client) Start(out []byte) (*Conn, []byte, error) {
	n := &Conn{began: time.Now()}
	n.tls = tls.Client(&n.wire, c.config)
	n.next, n.stop = iter.Pull(n.handshake)
	out, err := n.proceed(out)
	return n, out, err
}

// handshake is the coroutine. It ends when the handshake does.
func (c *Conn) handshake(yield func(struct{}) bool) {
	c.wire.wait = func() bool { return yield(struct{}{}) }
	err := c.tls.Handshake()
	c.wire.wait = nil
	if err != nil {
		c.err = classify(err, false)
		return
	}
	s := c.tls.ConnectionState()
	c.state = State{
		Took: time.Since(c.began), Version: s.Version, Cipher: s.CipherSuite, Curve: s.CurveID,
		Protocol: s.NegotiatedProtocol, Resumed: s.DidResume,
	}
	c.ready = true
}

// proceed runs the handshake until it needs more bytes or has ended.
func (c *Conn) proceed(out []byte) ([]byte, error) {
	c.wire.out = out
	if _, more := c.next(); !more {
		c.next, c.stop = nil, nil
	}
	out, c.wire.out = c.wire.out, nil
	return out, c.Err()
}

// Ready reports whether the handshake is done: State is valid, and Write possible.
func (c *Conn) Ready() bool { return c.ready }

// State is what the handshake came to. It is zero until Ready.
func (c *Conn) State() State { return c.state }

// Err is what ended the connection, or nil.
func (c *Conn) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Feed takes ciphertext, all of it, split anywhere. It appends what it decrypts to
// to plain, and to out what the server has to be told: messages of the handshake,
// of a key update, an alert. Both are of use whatever the error: io.EOF after the
// server's close_notify, otherwise an *Error, which says why the connection is of
// no use any more. Of out there are at most as many bytes as of in, but for the
// handshake; a caller that cannot write them stops feeding.
func (c *Conn) Feed(in, plain, out []byte) (p, o []byte, err error) {
	if c.err != nil {
		return plain, out, c.err
	}
	if c.ended {
		return plain, out, io.EOF
	}
	c.wire.in = in
	if c.next != nil {
		if out, err = c.proceed(out); err != nil || c.next != nil {
			c.wire.in = nil
			return plain, out, err
		}
	}
	c.wire.out = out
	plain, err = c.read(plain)
	out, c.wire.out, c.wire.in = c.wire.out, nil, nil
	return plain, out, err
}

// read decrypts what is there.
func (c *Conn) read(plain []byte) ([]byte, error) {
	for {
		plain = slices.Grow(plain, 4<<10)
		n, err := c.tls.Read(plain[len(plain):cap(plain)])
		plain = plain[:len(plain)+n]
		switch {
		case err == nil:
		case err == errAgain:
			return plain, nil
		case err == io.EOF: // close_notify: the wire has no end
			c.ended = true
			return plain, io.EOF
		default:
			c.err = classify(err, true)
			return plain, c.err
		}
	}
}

// Write appends plain, encrypted, to out.
func (c *Conn) Write(out, plain []byte) ([]byte, error) {
	switch {
	case c.err != nil:
		return out, c.err
	case !c.ready:
		return out, errNotReady
	}
	c.wire.out = out
	_, err := c.tls.Write(plain)
	out, c.wire.out = c.wire.out, nil
	if err != nil {
		c.err = classify(err, true)
		return out, c.err
	}
	return out, nil
}

// End is called when the socket's other side was closed. It returns nil if the
// server said so before, as it has to; otherwise content may have been cut off, by
// whoever is in between, and the error says that.
func (c *Conn) End() error {
	if c.err == nil && !c.ended {
		c.err = &Error{Kind: Truncated, Err: errTruncated}
	}
	return c.Err()
}

// Close appends close_notify to out, unless the connection failed, and frees what
// the handshake holds. Nothing may be called after it but State and Err.
func (c *Conn) Close(out []byte) []byte {
	if c.stop != nil {
		c.stop()
		c.next, c.stop, c.wire.out = nil, nil, nil
		return out
	}
	if c.ready && c.err == nil {
		c.wire.out = out
		// It cannot fail: the wire takes everything.
		_ = c.tls.CloseWrite()
		out, c.wire.out = c.wire.out, nil
	}
	return out
}

// wire is the connection as crypto/tls sees it.
type wire struct {
	in   []byte      // that was not read yet; the caller's
	out  []byte      // the caller's
	wait func() bool // lets the caller of the handshake go on; false: it gave up
}

// again says that there are no bytes yet. It calls itself temporary, so that
// crypto/tls goes on where it was.
type again struct{}

var errAgain net.Error = again{}

func (again) Error() string   { return "no bytes yet" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

func (w *wire) Read(b []byte) (int, error) {
	for len(w.in) == 0 {
		if w.wait == nil {
			return 0, errAgain
		}
		if !w.wait() {
			return 0, net.ErrClosed
		}
	}
	n := copy(b, w.in)
	w.in = w.in[n:]
	return n, nil
}

func (w *wire) Write(b []byte) (int, error) {
	w.out = append(w.out, b...)
	return len(b), nil
}

// address is where the wire leads, as far as crypto/tls asks: it remembers
// sessions by it where there is no name.
type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "server" }

func (w *wire) Close() error                     { return nil }
func (w *wire) LocalAddr() net.Addr              { return address{} }
func (w *wire) RemoteAddr() net.Addr             { return address{} }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
