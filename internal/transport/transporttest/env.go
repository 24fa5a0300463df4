package transporttest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// patience bounds every wait of the suite; nothing is expected to take it.
const patience = time.Minute

// An env is the surroundings of one case: a transport that is served, and what
// was there before it.
type env struct {
	*testing.T
	factory    Factory
	limits     Limits
	config     transport.Config
	making     func(c transport.Conn)             // called before a session is made; nil does nothing
	wrap       func(s *session) transport.Session // what the transport gets for it; nil is s itself
	transport  transport.Transport
	served     chan error
	addr       net.Addr
	goroutines int
	files      int

	mu       sync.Mutex
	sessions []*session
	clients  []net.Conn
	logs     []string
}

func newEnv(t *testing.T, f Factory, limits Limits) *env {
	return &env{
		T: t, factory: f, limits: limits,
		config:     transport.Config{Loops: 2},
		goroutines: runtime.NumGoroutine(), files: openFiles(),
	}
}

// hooks are the session of a case. Those that are nil do the usual.
type hooks struct {
	feed    func(s *session, in []byte, out *buf.Queue) (int, error)
	eof     func(s *session, unread []byte, out *buf.Queue) error
	expired func(s *session, out *buf.Queue) error
	drained func(s *session)
	turn    func(s *session, out *buf.Queue) error
	lost    func(s *session, err error)
	closed  func(s *session, err error)
	lend    func(s *session, send func())
}

// A session checks what the contract says about the order of calls, and runs the
// hooks of the case.
type session struct {
	transport.Conn
	e        *env
	hooks    hooks
	n        int // in the order of accepting
	inside   atomic.Int32
	losts    atomic.Int32
	owed     atomic.Int64 // lines that turns have to say; the cases' own
	said     int64        // that they have said
	isClosed atomic.Bool
	hijacked atomic.Bool
	gone     chan struct{} // closed by Closed
	lostErr  chan error    // has what Lost was told
	why      error         // what Closed was told
}

func (s *session) enter(what string) func() {
	if n := s.inside.Add(1); n != 1 {
		s.e.Errorf("%s is called while another call has not returned", what)
	}
	if s.isClosed.Load() {
		s.e.Errorf("%s is called after Closed", what)
	}
	return func() { s.inside.Add(-1) }
}

// Lend implements [transport.Lender].
func (s *session) Lend(send func()) {
	if s.hooks.lend != nil {
		s.hooks.lend(s, send)
	}
}

// Feed implements [transport.Session].
func (s *session) Feed(in []byte, out *buf.Queue) (int, error) {
	defer s.enter("Feed")()
	if len(in) == 0 {
		s.e.Error("Feed is called with nothing")
	}
	if out.Len() != 0 {
		s.e.Error("Feed is called with a queue that is not empty")
	}
	return s.hooks.feed(s, in, out)
}

// EOF implements [transport.Session].
func (s *session) EOF(unread []byte, out *buf.Queue) error {
	defer s.enter("EOF")()
	if s.hooks.eof == nil {
		return transport.ErrClosed
	}
	return s.hooks.eof(s, unread, out)
}

// Expired implements [transport.Session].
func (s *session) Expired(out *buf.Queue) error {
	defer s.enter("Expired")()
	if s.hooks.expired == nil {
		return transport.ErrClosed
	}
	return s.hooks.expired(s, out)
}

// Turn implements [transport.Turner].
func (s *session) Turn(out *buf.Queue) error {
	defer s.enter("Turn")()
	if out.Len() != 0 {
		s.e.Error("Turn is called with a queue that is not empty")
	}
	if s.hooks.turn == nil {
		return nil
	}
	return s.hooks.turn(s, out)
}

// Lost implements [transport.Session].
func (s *session) Lost(err error) {
	if s.losts.Add(1) > 1 {
		s.e.Error("Lost is called again")
	}
	if err == nil {
		s.e.Error("Lost is called without an error")
	}
	s.lostErr <- err
	if s.hooks.lost != nil {
		s.hooks.lost(s, err)
	}
}

// Closed implements [transport.Session].
func (s *session) Closed(err error) {
	defer s.enter("Closed")()
	defer close(s.gone)
	s.isClosed.Store(true)
	s.why = err
	if s.hooks.closed != nil {
		s.hooks.closed(s, err)
	}
}

// create makes the transport of the case.
func (e *env) create(h hooks) {
	e.Helper()
	e.config.NewSession = func(c transport.Conn) transport.Session {
		if e.making != nil {
			e.making(c)
		}
		s := &session{Conn: c, e: e, hooks: h, gone: make(chan struct{}), lostErr: make(chan error, 8)}
		e.mu.Lock()
		defer e.mu.Unlock()
		s.n = len(e.sessions)
		e.sessions = append(e.sessions, s)
		if e.wrap != nil {
			return e.wrap(s)
		}
		return s
	}
	e.config.Log = func(msg string, err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.logs = append(e.logs, msg+": "+err.Error())
	}
	var err error
	if e.transport, err = e.factory(e.config); err != nil {
		e.Fatal(err)
	}
}

// start makes the transport of the case and serves it.
func (e *env) start(h hooks) {
	e.Helper()
	e.create(h)
	var err error
	if e.addr, err = e.transport.Listen("tcp", "127.0.0.1:0", transport.ListenOptions{}); err != nil {
		e.Fatal(err)
	}
	e.serve()
}

func (e *env) serve() {
	e.served = make(chan error, 1)
	go func() { e.served <- e.transport.Serve() }()
}

// session waits for the session with number n.
func (e *env) session(n int) *session {
	e.Helper()
	var s *session
	e.until("session is accepted", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		if n < len(e.sessions) {
			s = e.sessions[n]
		}
		return s != nil
	})
	return s
}

// close ends the case: it closes the transport and wants nothing to be left.
func (e *env) close() {
	e.Helper()
	e.mu.Lock()
	clients := e.clients
	e.mu.Unlock()
	if e.served != nil {
		e.stop()
	}
	for _, c := range clients {
		c.Close()
	}
	e.mu.Lock()
	sessions := e.sessions
	e.mu.Unlock()
	for _, s := range sessions {
		if !s.hijacked.Load() {
			e.wait(s.gone, "Closed is called")
		}
	}
	if e.transport != nil {
		e.until("connections are counted off", func() bool { return e.transport.Stats().Open == 0 })
	}
	e.until("goroutines end", func() bool { return runtime.NumGoroutine() <= e.goroutines })
	e.until("descriptors are closed", func() bool { return openFiles() <= e.files })
	if e.Failed() {
		e.Logf("%d goroutines, %d before; %d files, %d before; log: %q", runtime.NumGoroutine(), e.goroutines, openFiles(), e.files, e.logs)
	}
}

// stop closes the transport and wants Serve to return.
func (e *env) stop() {
	e.Helper()
	closed := make(chan error, 1)
	go func() { closed <- e.transport.Close() }()
	if err := e.receive(closed, "Close returns"); err != nil {
		e.Error(err)
	}
	if err := e.receive(e.served, "Serve returns"); !errors.Is(err, transport.ErrStopped) {
		e.Errorf("Serve returns %v, want ErrStopped", err)
	}
	e.served = nil
}

// dial connects to the transport. All the client's reads and writes are bounded.
func (e *env) dial() *client {
	e.Helper()
	return e.dialWith(&net.Dialer{})
}

func (e *env) dialWith(d *net.Dialer) *client {
	e.Helper()
	d.Timeout = patience
	c, err := d.Dial(e.addr.Network(), e.addr.String())
	if err != nil {
		e.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		e.Fatal(err)
	}
	e.mu.Lock()
	e.clients = append(e.clients, c)
	e.mu.Unlock()
	if e.limits.Secure != nil {
		if c, err = e.limits.Secure(c); err != nil {
			e.Fatal(err)
		}
	}
	return &client{Conn: c, e: e, r: bufio.NewReader(c)}
}

// A client is the other end of a connection.
type client struct {
	net.Conn
	e *env
	r *bufio.Reader
}

// send writes a text.
func (c *client) send(s string) {
	c.e.Helper()
	if _, err := io.WriteString(c.Conn, s); err != nil {
		c.e.Errorf("client writes: %v", err)
	}
}

// want reads a text.
func (c *client) want(s string) {
	c.e.Helper()
	b := make([]byte, len(s))
	if n, err := io.ReadFull(c.r, b); err != nil || string(b) != s {
		c.e.Errorf("client reads %.80q, %v, want %.80q", b[:n], err, s)
	}
}

// wantEnd reads the end of the stream.
func (c *client) wantEnd() {
	c.e.Helper()
	if b, err := io.ReadAll(c.r); err != nil || len(b) > 0 {
		c.e.Errorf("client reads %.80q, %v, want the end", b, err)
	}
}

// wantGone reads the end of the stream or a reset.
func (c *client) wantGone() {
	c.e.Helper()
	b, err := io.ReadAll(c.r)
	if len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.e.Errorf("client reads %.80q, %v, want the connection gone", b, err)
	}
}

// wait waits until a channel is closed.
func (e *env) wait(c <-chan struct{}, what string) {
	e.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		e.dump()
		e.Fatalf("waited in vain until %s", what)
	}
}

// handedOver waits until n Feeds no longer lead their loops.
func (e *env) handedOver(n uint64) {
	e.Helper()
	e.until("Feed has lost the loop", func() bool {
		s := e.transport.Stats()
		return e.limits.NoTakeover || s.Takeovers+s.Detached+s.Spared >= n
	})
}

// receive waits for an error.
func (e *env) receive(c <-chan error, what string) error {
	e.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(patience):
		e.dump()
		e.Fatalf("waited in vain until %s", what)
		return nil
	}
}

// until waits until a condition holds.
func (e *env) until(what string, ok func() bool) {
	e.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			e.dump()
			e.Fatalf("waited in vain until %s", what)
		}
	}
}

// dump logs the stacks of all goroutines.
func (e *env) dump() {
	b := make([]byte, 1<<18)
	e.Logf("%s", b[:runtime.Stack(b, true)])
}

// openFiles is the number of descriptors of the process, or 0 where it cannot be
// told.
func openFiles() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}
