package tlsclient

import (
	"crypto/tls"
	"io"
	"iter"
	"net"
	"slices"
	"time"
)

// Filter is one connection. It belongs to the goroutine that started it, which must not lock
// or unlock its thread during the handshake.
type Filter struct {
	tls    *tls.Conn
	memory memory
	next   func() (struct{}, bool) // resumes the handshake; nil once it has ended
	stop   func()
	began  time.Time
	state  State
	ready  bool
	ended  bool // close_notify was received
	err    *Error
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
func (c *Client) Start(out []byte) (*Filter, []byte, error) {
	n := &Filter{began: time.Now()}
	n.tls = tls.Client(&n.memory, c.config)
	n.next, n.stop = iter.Pull(n.handshake)
	out, err := n.proceed(out)
	return n, out, err
}

// handshake is the coroutine. It ends with the handshake.
func (c *Filter) handshake(yield func(struct{}) bool) {
	c.memory.wait = func() bool { return yield(struct{}{}) }
	err := c.tls.Handshake()
	c.memory.wait = nil
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
func (c *Filter) proceed(out []byte) ([]byte, error) {
	c.memory.out = out
	if _, more := c.next(); !more {
		c.next, c.stop = nil, nil
	}
	out, c.memory.out = c.memory.out, nil
	return out, c.Err()
}

// Ready reports whether the handshake is complete: State is valid, and Write may be called.
func (c *Filter) Ready() bool { return c.ready }

// State returns the result of the handshake. It is zero until Ready.
func (c *Filter) State() State { return c.state }

// Err returns the error that ended the connection, or nil.
func (c *Filter) Err() error {
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
func (c *Filter) Feed(in, plain, out []byte) (p, o []byte, err error) {
	if c.err != nil {
		return plain, out, c.err
	}
	if c.ended {
		return plain, out, io.EOF
	}
	c.memory.in = in
	if c.next != nil {
		if out, err = c.proceed(out); err != nil || c.next != nil {
			c.memory.in = nil
			return plain, out, err
		}
	}
	c.memory.out = out
	plain, err = c.read(plain)
	out, c.memory.out, c.memory.in = c.memory.out, nil, nil
	return plain, out, err
}

// read decrypts the available bytes.
func (c *Filter) read(plain []byte) ([]byte, error) {
	for {
		plain = slices.Grow(plain, 4<<10)
		n, err := c.tls.Read(plain[len(plain):cap(plain)])
		plain = plain[:len(plain)+n]
		switch {
		case err == nil:
		case err == errAgain:
			return plain, nil
		case err == io.EOF: // close_notify: memory itself has no end
			c.ended = true
			return plain, io.EOF
		default:
			c.err = classify(err, true)
			return plain, c.err
		}
	}
}

// Write encrypts plain and appends it to out.
func (c *Filter) Write(out, plain []byte) ([]byte, error) {
	switch {
	case c.err != nil:
		return out, c.err
	case !c.ready:
		return out, errNotReady
	}
	c.memory.out = out
	_, err := c.tls.Write(plain)
	out, c.memory.out = c.memory.out, nil
	if err != nil {
		c.err = classify(err, true)
		return out, c.err
	}
	return out, nil
}

// End is called when the peer closed the socket. It returns nil if the server sent
// close_notify before, as it must. Otherwise something on the path may have truncated the
// content, and End returns an error.
func (c *Filter) End() error {
	if c.err == nil && !c.ended {
		c.err = &Error{Kind: Truncated, Err: errTruncated}
	}
	return c.Err()
}

// Close appends close_notify to out, unless the connection failed, and frees the resources
// of the handshake. Afterwards only State and Err may be called.
func (c *Filter) Close(out []byte) []byte {
	if c.stop != nil {
		c.stop()
		c.next, c.stop, c.memory.out = nil, nil, nil
		return out
	}
	if c.ready && c.err == nil {
		c.memory.out = out
		// It cannot fail: memory accepts everything.
		_ = c.tls.CloseWrite()
		out, c.memory.out = c.memory.out, nil
	}
	return out
}

// memory is the connection that crypto/tls uses: bytes that are passed in and out.
type memory struct {
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

func (w *memory) Read(b []byte) (int, error) {
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

func (w *memory) Write(b []byte) (int, error) {
	w.out = append(w.out, b...)
	return len(b), nil
}

// address is the address of memory as far as crypto/tls needs one: it is the key of a
// session if there is no server name.
type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "server" }

func (w *memory) Close() error                     { return nil }
func (w *memory) LocalAddr() net.Addr              { return address{} }
func (w *memory) RemoteAddr() net.Addr             { return address{} }
func (w *memory) SetDeadline(time.Time) error      { return nil }
func (w *memory) SetReadDeadline(time.Time) error  { return nil }
func (w *memory) SetWriteDeadline(time.Time) error { return nil }
