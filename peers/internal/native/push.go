package native

import (
	"context"
	"sync"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/subject"
)

// push is the fan-out of GET /events and POST /publish on the engine's streams: an event is
// written to each stream by the goroutine of the publish, which waits for none of them.
type push struct {
	mu    sync.Mutex
	of    map[string]map[*listener]struct{} // by topic
	ended bool                              // the subject ends: streams are closed
}

// A listener is the stream of one answer.
type listener struct {
	stream *redline.Stream // nil: it has not begun
	missed []byte          // what came before it
}

// newPush returns a push whose streams end with ctx.
func newPush(ctx context.Context) *push {
	p := &push{of: map[string]map[*listener]struct{}{}}
	context.AfterFunc(ctx, p.end)
	return p
}

// events answers GET /events. The listener is there before the head of the answer is sent: a client
// that has received the head misses nothing.
func (p *push) events(c *redline.Ctx) {
	topic, err := subject.Topic(c.Query("topic"))
	if err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	if err := c.SetHeader("Content-Type", subject.EventStream); err != nil {
		c.Error(500)
		return
	}
	l := p.join(topic)
	context.AfterFunc(c.Context(), func() { p.leave(topic, l) })
	c.Stream(func(s *redline.Stream) { p.begin(l, s) })
}

func (p *push) join(topic string) *listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := new(listener)
	if p.of[topic] == nil {
		p.of[topic] = map[*listener]struct{}{}
	}
	p.of[topic][l] = struct{}{}
	return l
}

// begin gives a listener its stream.
func (p *push) begin(l *listener, s *redline.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		s.Close()
		return
	}
	l.stream = s
	l.send(l.missed)
	l.missed = nil
}

// send writes an event; a stream whose buffer is full misses it. One whose client has left is
// removed by its context.
func (l *listener) send(event []byte) {
	if l.stream == nil {
		l.missed = append(l.missed, event...)
	} else if len(event) > 0 {
		_, _ = l.stream.TryWrite(event)
	}
}

func (p *push) leave(topic string, l *listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.of[topic], l); len(p.of[topic]) == 0 {
		delete(p.of, topic)
	}
	if l.stream != nil {
		l.stream.Close()
	}
}

// end closes all streams.
func (p *push) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, listeners := range p.of {
		for l := range listeners {
			if l.stream != nil {
				l.stream.Close()
			}
		}
	}
}

// publish answers POST /publish.
func (p *push) publish(c *redline.Ctx) {
	topic, err := subject.Topic(c.Query("topic"))
	if err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	body, err := c.ReadBody(subject.MaxPublish)
	if err != nil {
		c.Error(400)
		return
	}
	event, err := subject.Published(body)
	if err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	p.mu.Lock()
	for l := range p.of[topic] {
		l.send(event)
	}
	p.mu.Unlock()
	c.NoContent(204)
}
