package redline_test

import (
	"sync"
	"testing"

	"github.com/redline-go/redline"
)

// A pushing is a Subscriber that writes what is in its queue.
type pushing struct {
	t    *testing.T
	gone chan error

	mu     sync.Mutex
	queue  []*redline.Frame
	inside bool // a method is running
	over   bool // Gone was called
	ends   bool // the response is to end when the queue is empty
	panics bool
	bound  int // of what may be unsent; 0 is none

	sub *redline.Subscription
}

func newPushing(t *testing.T) *pushing { return &pushing{t: t, gone: make(chan error, 1)} }

// enter checks that calls come one at a time, and none after Gone.
func (p *pushing) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inside || p.over {
		p.t.Errorf("a method is called while another one runs, or after Gone: %v, %v", p.inside, p.over)
	}
	p.inside = true
}

func (p *pushing) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inside = false
}

// Turn implements redline.Subscriber.
func (p *pushing) Turn(t *redline.Turn) {
	p.enter()
	defer p.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.panics {
		panic("on purpose")
	}
	for len(p.queue) > 0 {
		if !t.WriteFrame(p.queue[0]) {
			return
		}
		if n := t.Pending(); p.bound > 0 && n > p.bound+p.bound/2 {
			p.t.Errorf("%d bytes are unsent", n)
		}
		p.queue = p.queue[1:]
	}
	if p.ends {
		t.Close()
	}
}

// Gone implements redline.Subscriber.
func (p *pushing) Gone(err error) {
	p.enter()
	defer p.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.gone <- err
}

func (p *pushing) set(flag *bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*flag = true
}

// left is the length of the queue.
func (p *pushing) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// add queues frames, without waking anybody.
func (p *pushing) add(frames ...*redline.Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, frames...)
}

// end has the response end after what is queued, in the next turn.
func (p *pushing) end() {
	p.set(&p.ends)
}

// An audience is everybody who has subscribed to a server, by loop.
type audience struct {
	t  *testing.T
	mu sync.Mutex
	by map[*redline.Loop][]*pushing
	n  int
}

func newAudience(t *testing.T) *audience {
	return &audience{t: t, by: map[*redline.Loop][]*pushing{}}
}

// join is a handler.
func (a *audience) join(c *redline.Ctx) { a.add(newPushing(a.t), c.Subscribe) }

func (a *audience) add(p *pushing, subscribe func(redline.Subscriber) *redline.Subscription) *pushing {
	p.mu.Lock() // a turn may come before sub is set
	p.sub = subscribe(p)
	p.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.by[p.sub.Loop()] = append(a.by[p.sub.Loop()], p)
	a.n++
	return p
}

func (a *audience) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// all are the subscribers.
func (a *audience) all() (all []*pushing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, list := range a.by {
		all = append(all, list...)
	}
	return all
}

// publish has a walk on each loop give a text to everybody.
func (a *audience) publish(text string) {
	f := redline.NewFrame([]byte(text))
	a.walk(func(p *pushing) { p.add(f) })
}

// end has a walk on each loop end all responses.
func (a *audience) end() { a.walk((*pushing).end) }

func (a *audience) walk(visit func(p *pushing)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l, list := range a.by {
		i := 0
		l.Walk(func() *redline.Subscription {
			if i == len(list) {
				return nil
			}
			p := list[i]
			i++
			visit(p)
			return p.sub
		})
	}
}
