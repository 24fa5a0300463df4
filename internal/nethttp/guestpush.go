package nethttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/serial"
)

// A guestPush is an answer of a guest that its Subscriber writes by turns. They are taken on
// the goroutine of the request, which waits between them.
type guestPush struct {
	g     *Guest
	to    exchange.Subscriber
	mu    sync.Mutex
	moved sync.Cond
	woken bool
	gone  bool  // the client has left, or the answer is over
	err   error // of writing; belongs to the goroutine
}

// guestLoop is the loop of all guests.
var guestLoop serial.Loop

// Subscribe implements exchange.Session.
func (g *Guest) Subscribe(_ *exchange.Exchange, to exchange.Subscriber) exchange.Subscribed {
	g.push = &guestPush{g: g, to: to}
	g.push.moved.L = &g.push.mu
	return g.push
}

// serve takes turns until the answer has ended or the client has left. It reports how the
// answer ends.
func (p *guestPush) serve() exchange.Verdict {
	g := p.g
	x := &g.X
	if !x.HeadSent {
		x.Response.Length, x.Response.Trailers = exchange.UnknownLength, nil
	}
	if err := g.Flush(x); err != nil && err != exchange.ErrNoBody {
		p.end(err)
		return exchange.Cut
	}
	if x.Bodiless {
		p.end(nil)
		return exchange.End
	}
	stop := context.AfterFunc(g.r.Context(), p.lose)
	defer stop()
	for {
		verdict := p.to.Turn()
		if p.err == nil && verdict != exchange.Cut {
			p.err = g.Flush(x)
		}
		switch {
		case p.err != nil || verdict == exchange.Cut:
			p.end(exchange.ErrGone)
			return exchange.Cut
		case verdict == exchange.End:
			p.end(nil)
			return verdict
		case !p.wait():
			p.end(exchange.ErrGone)
			return exchange.Cut
		}
	}
}

// wait waits until a turn is requested, and reports false if the client has left.
func (p *guestPush) wait() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.woken && !p.gone {
		p.moved.Wait()
	}
	p.woken = false
	return !p.gone
}

// end tells the Subscriber that it is gone.
func (p *guestPush) end(err error) {
	p.lose()
	p.to.Gone(err)
}

func (p *guestPush) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.moved.Broadcast()
}

// Turn implements exchange.Subscribed.
func (p *guestPush) Turn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = true
	p.moved.Broadcast()
	return !p.gone
}

// Loop implements exchange.Subscribed.
func (p *guestPush) Loop() exchange.Loop { return &guestLoop }

// At implements exchange.Subscribed.
func (p *guestPush) At() exchange.Turned { return p }

// RemoteAddr implements exchange.Subscribed.
func (p *guestPush) RemoteAddr() net.Addr { return p.g.RemoteAddr() }

// SetAckTimeout implements exchange.Subscribed: a guest does not know its connection.
func (p *guestPush) SetAckTimeout(time.Duration) {}

// Pending implements exchange.Subscribed: a Put returns when the server has taken its bytes.
func (p *guestPush) Pending() int { return 0 }

// Put implements exchange.Subscribed. It waits for the client.
func (p *guestPush) Put(b []byte) bool {
	if p.err == nil && len(b) > 0 {
		p.err = p.g.SendBody(&p.g.X, b)
	}
	return true
}

// PutFrame implements exchange.Subscribed.
func (p *guestPush) PutFrame(f *exchange.Frame) bool { return p.Put(f.Body) }

// finishPush is the end of a guest whose answer was to be written by turns.
func (g *Guest) finishPush() {
	switch {
	case g.X.Hijacked:
		g.push.end(exchange.ErrHijacked)
	case g.X.Aborted:
		g.push.end(exchange.ErrAborted)
		panic(http.ErrAbortHandler)
	default:
		if g.push.serve() == exchange.Cut {
			panic(http.ErrAbortHandler)
		}
		g.finish()
	}
}
