package redline

import (
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// TestWriteBufferOfTransport wants the transport to hold back requests at the same
// mark at which handlers wait.
func TestWriteBufferOfTransport(t *testing.T) {
	for set, want := range map[int]int{0: DefaultWriteBuffer, 1000: 1000, 1 << 20: 1 << 20, -1: math.MaxInt} {
		s := &Server{Native: func(*Ctx) {}, WriteBuffer: set}
		if got := s.transportConfig().HighWater; got != want || s.sessionConfig().HighWater != want {
			t.Errorf("WriteBuffer %d: the transport has %d, the sessions %d, want %d", set, got, s.sessionConfig().HighWater, want)
		}
	}
}

// A failing transport takes every listener and accepts nothing.
type failing struct {
	transport.Transport
	why error
}

func (f failing) Adopt(net.Listener, transport.ListenOptions) error { return nil }
func (f failing) Serve() error                                      { return f.why }
func (f failing) Close() error                                      { return nil }

// TestServeError wants what the transport says of a listener's Accept, as it is.
func TestServeError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	s := &Server{Native: func(*Ctx) {}, Logger: slog.New(slog.DiscardHandler), Transport: TransportStd, t: failing{why: broken}}
	if err := s.Serve(struct{ net.Listener }{l}); err != broken {
		t.Errorf("Serve returns %v, want %v itself", err, broken)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is not closed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A shy connection counts how often its client's address is asked for, which may wait
// for the client (PROXY protocol).
type shy struct {
	exchange.Conn
	slot  atomic.Value
	asked int
}

func (s *shy) Slot() *atomic.Value { return &s.slot }
func (s *shy) RemoteAddr() net.Addr {
	s.asked++
	return &net.TCPAddr{}
}

// TestHooksAskNoAddress calls hooks that do not look at the client's address: nobody
// does, unless they panic.
func TestHooksAskNoAddress(t *testing.T) {
	panics := false
	s := &Server{Native: func(*Ctx) {}, Logger: slog.New(slog.DiscardHandler), ConnState: func(net.Conn, http.ConnState) {
		if panics {
			panic("in a hook")
		}
	}}
	s.adapter = s.newAdapter()
	cfg, c := s.sessionConfig(), new(shy)
	s.adapter.Conn(c) // what it asks is not the hooks' affair
	c.asked = 0
	if !cfg.State(c, exchange.StateActive) || c.asked > 0 {
		t.Errorf("the address is asked for %d times", c.asked)
	}
	panics = true
	if cfg.State(c, exchange.StateIdle) || c.asked != 1 {
		t.Errorf("the address is asked for %d times to log a panic", c.asked)
	}
	if n := s.Stats().Panics; n != 1 {
		t.Errorf("%d panics are counted", n)
	}
}
