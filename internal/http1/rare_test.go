package http1

import (
	"testing"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// TestSessionSize: every idle connection and every subscriber has a session, of a size class of the
// allocator. The next one is 128 bytes.
func TestSessionSize(t *testing.T) {
	if n := unsafe.Sizeof(Session{}); n > 112 {
		t.Errorf("a session has %d bytes, want at most 112", n)
	}
}

// silent is a subscriber that writes nothing.
type silent struct{}

func (silent) Turn() exchange.Verdict { return exchange.Continue }
func (silent) Gone(error)             {}

// TestSubscriberKeepsNothing: a handler that wants to learn when its client goes, and then
// subscribes, leaves nothing of that with the session.
func TestSubscriberKeepsNothing(t *testing.T) {
	cfg := &exchange.Config{HighWater: 4 << 10, Handler: pathHandler{"x": func(x *exchange.Exchange) {
		if x.Session.OnGone(func() { t.Error("a handler that has returned learns that its client is gone") }) {
			t.Error("the client is gone")
		}
		x.Subscribed = true
		x.Session.Subscribe(x, silent{})
	}}}
	var s *Session
	f := transporttest.NewFake(t, 1, func(c transport.Conn) transport.Session {
		s = NewSession(c, cfg)
		return s
	})
	f.SendString("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
	f.Run()
	if r := s.rare.Load(); r != nil || s.phase != inPush {
		t.Errorf("%+v is kept in phase %d", r, s.phase)
	}
	f.End()
	f.Run()
}
