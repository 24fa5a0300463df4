package native

import (
	"context"
	"fmt"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/subject"
	"github.com/redline-go/redline/push"
)

// pusher is the fan-out of GET /events and POST /publish on the hub.
type pusher struct {
	hub    *push.Hub
	stream *push.Handler
}

// newPusher returns a pusher whose streams end with ctx. Like those of the other subjects it keeps
// no events for clients that come later.
func newPusher(ctx context.Context) (*pusher, error) {
	hub, err := push.New(push.Options{History: push.History{Events: -1}})
	if err != nil {
		return nil, fmt.Errorf("create hub: %w", err)
	}
	context.AfterFunc(ctx, func() { hub.Close() }) // the error is nil without a broker
	return &pusher{hub, hub.Handler(nil)}, nil
}

// events answers GET /events.
func (p *pusher) events(c *redline.Ctx) {
	if _, err := subject.Topic(c.Query("topic")); err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	p.stream.Serve(c)
}

// publish answers POST /publish.
func (p *pusher) publish(c *redline.Ctx) {
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
	if _, err := subject.Published(body); err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	if _, err := p.hub.Publish(c.Context(), push.Event{Topic: topic, Data: body}); err != nil {
		c.Text(503, err.Error()+"\n")
		return
	}
	c.NoContent(204)
}
