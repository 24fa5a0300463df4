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
	of    map[string]map[*redline.Stream]struct{} // by topic
	ended bool                                    // the subject ends: streams are closed
}

// newPush returns a push whose streams end with ctx.
func newPush(ctx context.Context) *push {
	p := &push{of: map[string]map[*redline.Stream]struct{}{}}
	context.AfterFunc(ctx, p.end)
	return p
}

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
	c.Stream(func(s *redline.Stream) {
		p.join(topic, s)
		context.AfterFunc(s.Context(), func() { p.leave(topic, s) })
	})
}

func (p *push) join(topic string, s *redline.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		s.Close()
		return
	}
	if p.of[topic] == nil {
		p.of[topic] = map[*redline.Stream]struct{}{}
	}
	p.of[topic][s] = struct{}{}
}

func (p *push) leave(topic string, s *redline.Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.of[topic], s); len(p.of[topic]) == 0 {
		delete(p.of, topic)
	}
	s.Close()
}

// end closes all streams.
func (p *push) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, streams := range p.of {
		for s := range streams {
			s.Close()
		}
	}
}

// publish writes the event to the streams of its topic; one whose buffer is full misses it.
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
	for s := range p.of[topic] {
		_, _ = s.TryWrite(event) // a stream whose client has left is removed by its context
	}
	p.mu.Unlock()
	c.NoContent(204)
}
