package scripted

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A responder answers requests of HTTP/2 over TLS without decoding them: it parses frames,
// and detects only where headers end. A server that does more is slower than the
// generators, and then the cost of each generator includes its waiting.
type responder struct {
	count *atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once the responder has ended
}

// serve accepts connections until the listener is closed.
func (r *responder) serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if !r.enter(c) {
			return errors.Join(net.ErrClosed, c.Close())
		}
		go func() {
			defer r.leave(c)
			// The error is the client's: it closed the connection, or does not speak
			// HTTP/2.
			_ = r.connection(c)
		}()
	}
}

func (r *responder) enter(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns != nil {
		r.conns[c] = true
	}
	return r.conns != nil
}

func (r *responder) leave(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
	_ = c.Close() // everything was sent
}

// end closes all connections.
func (r *responder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close() // its reader fails
	}
	r.conns = nil
}

// Frames, RFC 9113, sections 4.1 and 6.
const (
	frameHead    = 9
	frameData    = 0
	frameHeaders = 1
	frameSetting = 4
	framePing    = 6
	frameGoAway  = 7
	frameWindow  = 8

	flagEndStream  = 1
	flagAck        = 1 // of SETTINGS and PING
	flagEndHeaders = 4

	firstWindow = 65535 // initial flow-control window of a connection, section 6.9.2
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// fields is :status 200, and content-length as a literal that is not indexed (RFC 7541,
// section 6.2.2; indexes 8 and 28 of its table).
var fields = append([]byte{0x88, 0x0f, 28 - 15, 2}, fmt.Sprint(len(Body))...)

// exchange is the state of one connection.
type exchange struct {
	out    []byte
	owed   []uint32 // streams with a request that is not answered yet
	window int64    // bytes of content that the client accepts
}

// connection answers requests until the client closes the connection.
func (r *responder) connection(c net.Conn) error {
	if t, ok := c.(*tls.Conn); ok {
		if err := t.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if err := t.Handshake(); err != nil {
			return err
		}
		if err := t.SetDeadline(time.Time{}); err != nil {
			return err
		}
	}
	start := make([]byte, len(preface))
	if _, err := io.ReadFull(c, start); err != nil || !bytes.Equal(start, []byte(preface)) {
		return errors.Join(err, errors.New("no preface"))
	}
	x := &exchange{window: firstWindow}
	x.frame(frameSetting, 0, 0, nil)
	buf, have := make([]byte, 1<<16), 0
	for {
		if len(x.out) > 0 {
			if _, err := c.Write(x.out); err != nil {
				return err
			}
			x.out = x.out[:0]
		}
		n, err := c.Read(buf[have:])
		if err != nil {
			return err
		}
		have += n
		rest, asked, err := x.feed(buf[:have])
		if err != nil {
			return err
		}
		r.count.Add(int64(asked))
		x.answer()
		if have = copy(buf, rest); have == len(buf) {
			return errors.New("a frame longer than allowed")
		}
	}
}

// feed consumes the whole frames at the start of b, and returns the number of requests that
// ended in them.
func (x *exchange) feed(b []byte) (rest []byte, asked int, err error) {
	for len(b) >= frameHead {
		size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if len(b) < frameHead+size {
			break
		}
		kind, flags, stream := b[3], b[4], binary.BigEndian.Uint32(b[5:])&(1<<31-1)
		payload := b[frameHead : frameHead+size]
		b = b[frameHead+size:]
		switch {
		case (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0:
			x.owed = append(x.owed, stream)
			asked++
		case (kind == frameSetting || kind == framePing) && flags&flagAck == 0:
			if kind == frameSetting {
				payload = nil
			}
			x.frame(kind, flagAck, 0, payload)
		case kind == frameWindow && stream == 0 && len(payload) == 4:
			x.window += int64(binary.BigEndian.Uint32(payload) & (1<<31 - 1))
		case kind == frameGoAway:
			return nil, asked, io.EOF
		}
	}
	return b, asked, nil
}

// answer answers as many streams as the client's window allows.
func (x *exchange) answer() {
	n := min(len(x.owed), int(x.window/int64(len(Body))))
	for _, stream := range x.owed[:n] {
		x.frame(frameHeaders, flagEndHeaders, stream, fields)
		x.frame(frameData, flagEndStream, stream, []byte(Body))
	}
	x.window -= int64(n * len(Body))
	x.owed = x.owed[:copy(x.owed, x.owed[n:])]
}

func (x *exchange) frame(kind, flags byte, stream uint32, payload []byte) {
	size := len(payload)
	x.out = append(x.out, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	x.out = binary.BigEndian.AppendUint32(x.out, stream)
	x.out = append(x.out, payload...)
}
