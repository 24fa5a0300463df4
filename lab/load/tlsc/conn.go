package tlsc

import (
	"crypto/tls"
	"io"
	"iter"
	"net"
	"slices"
	"time"
)

// Conn is one connection. It belongs to the goroutine that started it, which must not lock
// or unlock its thread during the handshake.
type Conn struct {
	tls   *tls.Conn
	wire  wire
	next  func() (struct{}, bool) // resumes the handshake; nil once it has ended
	stop  func()
	began time.Time
	state State
	ready bool
	ended bool // close_notify was received
	err   *Error
}

// State is the result of a handshake.
type State struct {
	Took     time.Duration // from Start to the end of the handshake
	Version  uint16        // for tls.VersionName
	Cipher   uint16        // for tls.CipherSuiteName
	Curve    tls.CurveID   // of the key exchange
	Protocol string        // negotiated with ALPN; empty: none
	Resumed  bool          // an earlier session was resumed
}

// Start begins a connection and appends its first message to out. The caller must call
// Close.
func (c *Client) Start(out []byte) (*Conn, []byte, error) {
	n := &Conn{began: time.Now()}
	n.tls = tls.Client(&n.wire, c.config)
	n.next, n.stop = iter.Pull(n.handshake)
	out, err := n.proceed(out)
	return n, out, err
}

// handshake is the coroutine. It ends with the handshake.
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

// proceed runs the handshake until it needs more bytes or ends.
func (c *Conn) proceed(out []byte) ([]byte, error) {
	c.wire.out = out
	if _, more := c.next(); !more {
		c.next, c.stop = nil, nil
	}
	out, c.wire.out = c.wire.out, nil
	return out, c.Err()
}

// Ready reports whether the handshake is complete: State is valid, and Write may be called.
func (c *Conn) Ready() bool { return c.ready }

// State returns the result of the handshake. It is zero until Ready.
func (c *Conn) State() State { return c.state }

// Err returns the error that ended the connection, or nil.
func (c *Conn) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Feed consumes all of in, which is ciphertext split at any position. It appends the
// decrypted bytes to plain, and what must be sent to the server to out: handshake messages,
// key updates, an alert. Both are valid even with an error: io.EOF after the server's
// close_notify, otherwise an *Error, which says why the connection can no longer be used.
// Except during the handshake, out grows by at most len(in) bytes; a caller that cannot
// write them stops calling Feed.
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

// read decrypts the available bytes.
func (c *Conn) read(plain []byte) ([]byte, error) {
	for {
		plain = slices.Grow(plain, 4<<10)
		n, err := c.tls.Read(plain[len(plain):cap(plain)])
		plain = plain[:len(plain)+n]
		switch {
		case err == nil:
		case err == errAgain:
			return plain, nil
		case err == io.EOF: // close_notify: the wire itself has no end
			c.ended = true
			return plain, io.EOF
		default:
			c.err = classify(err, true)
			return plain, c.err
		}
	}
}

// Write encrypts plain and appends it to out.
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

// End is called when the peer closed the socket. It returns nil if the server sent
// close_notify before, as it must. Otherwise something on the path may have truncated the
// content, and End returns an error.
func (c *Conn) End() error {
	if c.err == nil && !c.ended {
		c.err = &Error{Kind: Truncated, Err: errTruncated}
	}
	return c.Err()
}

// Close appends close_notify to out, unless the connection failed, and frees the resources
// of the handshake. Afterwards only State and Err may be called.
func (c *Conn) Close(out []byte) []byte {
	if c.stop != nil {
		c.stop()
		c.next, c.stop, c.wire.out = nil, nil, nil
		return out
	}
	if c.ready && c.err == nil {
		c.wire.out = out
		// It cannot fail: the wire accepts everything.
		_ = c.tls.CloseWrite()
		out, c.wire.out = c.wire.out, nil
	}
	return out
}

// wire is the connection that crypto/tls uses.
type wire struct {
	in   []byte      // not read yet; belongs to the caller
	out  []byte      // belongs to the caller
	wait func() bool // resumes the caller of the handshake; false: it gave up
}

// again reports that there are no bytes yet. It is a temporary error, so that crypto/tls
// can continue where it was.
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

// address is the address of the wire as far as crypto/tls needs one: it is the key of a
// session if there is no server name.
type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "server" }

func (w *wire) Close() error                     { return nil }
func (w *wire) LocalAddr() net.Addr              { return address{} }
func (w *wire) RemoteAddr() net.Addr             { return address{} }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
