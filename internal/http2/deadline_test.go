package http2

import (
	"errors"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// soon is a deadline that is to pass.
const soon = 20 * time.Millisecond

// answersPing wants the connection to be alive.
func (p *peer) answersPing() {
	p.t.Helper()
	acks := p.acks
	p.frame(framePing, 0, 0, make([]byte, pingLength))
	p.wait("PING is answered", func() bool { return p.acks > acks })
}

// TestWriteDeadline resets a stream when its write deadline passes, while its handler does something
// else: it goes on only when the client has been told. Every later output fails.
func TestWriteDeadline(t *testing.T) {
	timeout := func(cfg *exchange.Config) { cfg.WriteTimeout = soon }
	none := func(*exchange.Config) {}
	for name, c := range map[string]struct {
		change func(*exchange.Config)
		before func(x *exchange.Exchange)
		body   string // that comes before
	}{
		"WriteTimeout":           {timeout, func(x *exchange.Exchange) { x.Session.Detach() }, ""},
		"WriteTimeout, streamed": {timeout, func(x *exchange.Exchange) { _ = x.Session.Flush(x) }, ""},
		"of the handler":         {none, func(x *exchange.Exchange) { x.Session.SetWriteDeadline(time.Now().Add(soon)); x.Session.Detach() }, ""},
		"sooner than before": {none, func(x *exchange.Exchange) {
			x.Session.SetWriteDeadline(time.Now().Add(time.Hour))
			x.Session.SetWriteDeadline(time.Now().Add(soon))
			x.Session.Detach()
		}, ""},
		"passed": {none, func(x *exchange.Exchange) {
			x.Session.SetWriteDeadline(time.Now().Add(-time.Hour))
			if err := x.Session.SendBody(x, []byte("late")); !errors.Is(err, exchange.ErrTimeout) {
				t.Errorf("writing behind a deadline: %v", err)
			}
			x.Session.Detach()
		}, ""},
		"passed, streamed": {none, func(x *exchange.Exchange) {
			_ = x.Session.SendBody(x, []byte("part"))
			x.Session.SetWriteDeadline(time.Now().Add(-time.Hour))
			x.Session.Detach()
		}, "part"},
	} {
		t.Run(name, func(t *testing.T) {
			release, got, gone := make(chan struct{}), make(chan error, 1), make(chan struct{})
			p := newPeer(t, 21, routes{"/late": func(x *exchange.Exchange) {
				x.Session.OnGone(func() { close(gone) })
				c.before(x)
				<-release
				got <- x.Session.SendBody(x, []byte("late"))
			}}, c.change)
			p.get(1, "/late").wantReset(1, InternalError)
			if r := p.reply(1); string(r.body) != c.body {
				t.Errorf("body %q, want %q", r.body, c.body)
			}
			<-gone
			close(release)
			if err := <-got; !errors.Is(err, exchange.ErrTimeout) {
				t.Errorf("writing afterwards: %v", err)
			}
			p.answersPing()
			p.close()
		})
	}
}

// TestWriteDeadlineExtended lets a handler have more time than the server gives, and a response that
// was complete in time stand.
func TestWriteDeadlineExtended(t *testing.T) {
	over := make(chan struct{})
	p := newPeer(t, 22, routes{
		"/none": func(x *exchange.Exchange) {
			x.Session.SetWriteDeadline(time.Time{})
			x.Session.Detach()
			<-over
			x.Body = append(x.Body, "late"...)
		},
		"/more": func(x *exchange.Exchange) {
			x.Session.SetWriteDeadline(time.Now().Add(time.Hour))
			x.Session.Detach()
			<-over
			x.Body = append(x.Body, "late"...)
		},
		"/slow": func(x *exchange.Exchange) {
			x.Session.Detach()
			<-over
		},
	}, func(cfg *exchange.Config) { cfg.WriteTimeout = 15 * soon })
	p.get(1, "/none").get(3, "/more").get(5, "/ok").get(7, "/slow")
	p.want(5, "200", "ok")
	p.wantReset(7, InternalError) // the deadlines of all have passed
	close(over)
	p.want(1, "200", "late")
	p.want(3, "200", "late")
	p.close()
}

// TestWriteDeadlineOfMany resets each of many streams, however they are served, and ends them.
func TestWriteDeadlineOfMany(t *testing.T) {
	for seed := range uint64(10) {
		release := make(chan struct{})
		p := newPeer(t, seed, routes{
			"/works": func(x *exchange.Exchange) {
				x.Session.Detach()
				<-release
			},
			"/sends": func(x *exchange.Exchange) { _ = x.Session.SendBody(x, []byte(large)) },
			"/over":  handlers["/large"], // its output waits
		}, func(cfg *exchange.Config) { cfg.WriteTimeout = soon })
		p.word(frameWindowUpdate, 0, 1<<30)
		for i := range uint32(20) {
			p.get(2*i+1, []string{"/works", "/sends", "/over"}[i%3])
		}
		for i := range uint32(20) {
			p.wantReset(2*i+1, InternalError)
		}
		close(release)
		p.answersPing()
		p.close()
	}
}

// TestWriteDeadlineOfHeld does not bound a response that continues after its handler.
func TestWriteDeadlineOfHeld(t *testing.T) {
	helds := make(chan exchange.Held, 1)
	p := newPeer(t, 23, routes{
		"/held": func(x *exchange.Exchange) { x.Session.Hold(x, func(h exchange.Held) { helds <- h }) },
		"/slow": func(x *exchange.Exchange) {
			x.Session.Detach()
			gone := make(chan struct{})
			if !x.Session.OnGone(func() { close(gone) }) {
				<-gone
			}
		},
	}, func(cfg *exchange.Config) { cfg.WriteTimeout = 15 * soon })
	p.get(1, "/held").get(3, "/slow")
	p.wantReset(3, InternalError)
	var h exchange.Held
	p.wait("the response is held", func() bool {
		select {
		case h = <-helds:
		default:
		}
		return h != nil
	})
	if err := h.Send([]byte("late")); err != nil {
		t.Error(err)
	}
	h.Close()
	p.want(1, "200", "late")
	p.close()
}
