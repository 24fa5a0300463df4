package http1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

var errLost = errors.New("lost")

// A memConn is a connection in memory that does nothing by chance: what the client
// sends are pieces, each of them one arrival, that Feed is given or Read takes.
type memConn struct {
	t       testing.TB
	session *Session
	pieces  []string // not arrived yet
	ended   error    // what Read answers behind the last piece
	rest    []byte   // arrived, not consumed
	in      []byte   // being fed
	unread  []byte
	got     strings.Builder // by the client
	writes  []int           // their sizes
	stuck   bool            // the client takes nothing
	slow    time.Duration   // that reading, and sending, take at least
	pending buf.Queue

	paused, again, detached, busy, cut bool
	hijacked                           *memHijacked
	deadline, roomBy                   time.Time
	err                                error // of the session: the connection is closed

	mu    sync.Mutex
	tasks []func(*buf.Queue) error
}

func newMem(t testing.TB, h exchange.Handler, change ...func(*exchange.Config)) *memConn {
	cfg := &exchange.Config{
		Handler: h, HighWater: 64 << 10,
		HeaderTimeout: time.Hour, StallTimeout: 2 * time.Hour, IdleTimeout: 5 * time.Hour,
	}
	for _, f := range change {
		f(cfg)
	}
	c := &memConn{t: t, ended: io.EOF}
	c.session = NewSession(c, cfg)
	return c
}

// send lets pieces arrive until nothing more is consumed.
func (c *memConn) send(pieces ...string) *memConn {
	c.pieces = append(c.pieces, pieces...)
	for c.open() && !c.paused && (c.again && len(c.rest) > 0 || len(c.pieces) > 0) {
		in := c.rest
		if !c.again {
			in = append(in, c.pieces[0]...)
			c.pieces = c.pieces[1:]
		}
		c.again = false
		in = in[:len(in):len(in)]
		c.in = in
		c.call(func(out *buf.Queue) error {
			n, err := c.session.Feed(in, out)
			c.rest = append(slices.Clone(in[n:]), c.unread...)
			c.again, c.unread = len(c.unread) > 0, nil
			c.Release()
			return err
		})
		c.wakeAll()
	}
	return c
}

func (c *memConn) open() bool { return c.err == nil && !c.cut && c.hijacked == nil }

// call runs code of the session and sends what it leaves.
func (c *memConn) call(f func(*buf.Queue) error) {
	var out buf.Queue
	c.busy, c.detached = true, false
	err := f(&out)
	c.busy = false
	if c.hijacked == nil {
		c.transmit(&out)
	}
	if c.err = err; err == nil && c.pending.Len() == 0 && c.open() {
		c.session.Drained()
	}
	out.Release()
}

func (c *memConn) transmit(out *buf.Queue) {
	c.pending.Take(out)
	if c.stuck || c.pending.Len() == 0 {
		return
	}
	c.writes = append(c.writes, c.pending.Len())
	for b := c.pending.First(); len(b) > 0; b = c.pending.First() {
		c.got.Write(b)
		c.pending.Discard(len(b))
	}
}

// unstick lets the client take what waits.
func (c *memConn) unstick() {
	c.stuck = false
	c.transmit(new(buf.Queue))
	c.session.Drained()
}

// wakeAll runs what Wake was given.
func (c *memConn) wakeAll() {
	for c.open() {
		c.mu.Lock()
		if len(c.tasks) == 0 {
			c.mu.Unlock()
			return
		}
		f := c.tasks[0]
		c.tasks = c.tasks[1:]
		c.mu.Unlock()
		c.call(f)
	}
}

// woken waits until Wake was called, and runs what it was given.
func (c *memConn) woken() {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		c.mu.Lock()
		n := len(c.tasks)
		c.mu.Unlock()
		if n > 0 {
			c.wakeAll()
			c.send()
			return
		}
	}
	c.t.Fatal("Wake is not called")
}

func (c *memConn) eof()    { c.call(func(out *buf.Queue) error { return c.session.EOF(c.rest, out) }) }
func (c *memConn) expire() { c.call(c.session.Expired) }

// due is how far away the deadline is, in hours; 0 is none.
func (c *memConn) due() int { return hours(c.deadline) }

// hours is how far away a time is; 0 is never.
func hours(t time.Time) int {
	if t.IsZero() {
		return 0
	}
	return int((time.Until(t) + 30*time.Minute) / time.Hour)
}

func (c *memConn) Wake(f func(out *buf.Queue) error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks = append(c.tasks, f)
	return true
}

func (c *memConn) Detach()        { c.detached = c.busy }
func (c *memConn) Detached() bool { return c.detached }
func (c *memConn) Leave(int)      {}

func (c *memConn) Read(p []byte, _ sync.Locker) (int, error) {
	time.Sleep(c.slow)
	if len(c.pieces) == 0 {
		return 0, c.ended
	}
	n := copy(p, c.pieces[0])
	if c.pieces[0] = c.pieces[0][n:]; c.pieces[0] == "" {
		c.pieces = c.pieces[1:]
	}
	return n, nil
}

func (c *memConn) Unread(p []byte) { c.unread = append(c.unread, p...) }

func (c *memConn) Flush(out *buf.Queue, most int, _ sync.Locker) error {
	switch {
	case !c.busy:
		c.t.Error("Flush outside of Feed")
	case c.cut:
		out.Reset()
		c.pending.Reset()
		return transport.ErrLost
	}
	time.Sleep(c.slow)
	c.transmit(out)
	if c.pending.Len() > most {
		return transport.ErrDeadline // nobody can wait here
	}
	return nil
}

// Release overwrites the fed input, so that code that still uses a part of it is found.
func (c *memConn) Release() {
	for i := range c.in {
		c.in[i] = 0xdb
	}
}

func (c *memConn) SetTimeout(d time.Duration)      { c.deadline = after(d) }
func (c *memConn) SetWriteTimeout(d time.Duration) { c.roomBy = after(d) }

// after is the time in d; 0 is never.
func after(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

func (c *memConn) Pause(on bool)                             { c.paused, c.again = on, c.again || c.paused && !on }
func (c *memConn) Pending() int                              { return c.pending.Len() }
func (c *memConn) Watch(w *transport.Watch) *transport.Watch { return w }
func (c *memConn) Untaken() int                              { return c.pending.Len() }
func (c *memConn) Close(how transport.Closing) {
	c.cut = c.cut || how != transport.Orderly
}
func (c *memConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

func (c *memConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 1234} }

type memHijacked struct {
	net.Conn
	unread string
}

func (c *memConn) Hijack(unread []byte, out *buf.Queue) (net.Conn, error) {
	c.transmit(out)
	c.hijacked = &memHijacked{unread: string(unread)}
	return c.hijacked, nil
}

var dateLine = regexp.MustCompile(`Date: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT\r\n`)

// answers is what the client got, without Date.
func (c *memConn) answers() string { return dateLine.ReplaceAllString(c.got.String(), "") }

// state says what became of the connection.
func (c *memConn) state() string {
	switch {
	case c.hijacked != nil:
		return "hijacked"
	case c.cut:
		return "cut"
	case c.err == transport.ErrClosed:
		return "closed"
	case c.err == ErrRefused:
		return "refused"
	case c.err != nil:
		return c.err.Error()
	case c.paused:
		return "held"
	case c.session.Idle():
		return "idle"
	}
	return "open"
}

// want wants the client to have got something, and the connection to be in a
// state.
func (c *memConn) want(state, answers string) {
	c.t.Helper()
	if got := c.answers(); got != answers {
		c.t.Errorf("the client gets\n%q, want\n%q", got, answers)
	}
	if got := c.state(); got != state {
		c.t.Errorf("the connection is %s, want %s", got, state)
	}
}

// answer is an answer with a body of known length.
func answer(status int, lines, body string) string {
	s := fmt.Sprintf("HTTP/1.1 %d %s\r\n%s", status, reasons[status], lines)
	if status != 204 && status != 304 {
		connection := ""
		if i := strings.Index(s, "Connection: "); i >= 0 {
			s, connection = s[:i], s[i:] // it comes last
		}
		s += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n" + connection
	}
	return s + "\r\n" + body
}

const (
	closes = "Connection: close\r\n"
	keeps  = "Connection: keep-alive\r\n"
	text   = "Content-Type: text/plain; charset=utf-8\r\n"
)

// answer10 is the answer to a request of HTTP/1.0.
func answer10(status int, lines, body string) string {
	return strings.Replace(answer(status, lines, body), "HTTP/1.1", "HTTP/1.0", 1)
}

// refused is the answer to a request that never reaches its handler.
func refused(status int, reason string) string { return answer(status, text+closes, reason+"\n") }

// A pathHandler answers by the path's first segment.
type pathHandler map[string]func(*exchange.Exchange)

func (h pathHandler) ServeExchange(x *exchange.Exchange) {
	name, _, _ := strings.Cut(strings.TrimPrefix(string(x.PathBytes()), "/"), "/")
	f, ok := h[name]
	if !ok {
		x.Status = 404
		return
	}
	f(x)
}

// readContent reads the content.
func readContent(x *exchange.Exchange) (string, error) {
	var b strings.Builder
	p := make([]byte, 7)
	for {
		n, err := x.Session.ReadBody(x, p)
		b.Write(p[:n])
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
	}
}
