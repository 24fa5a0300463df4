package main

import (
	"bufio"
	"time"

	"github.com/redline-go/redline/peers/internal/subject"
	"github.com/redline-go/redline/peers/internal/topics"
	"github.com/valyala/fasthttp"
)

// push is the subscribers of the service.
type push struct{ topics topics.Topics }

func bad(ctx *fasthttp.RequestCtx, err error) { ctx.Error(err.Error(), fasthttp.StatusBadRequest) }

func (p *push) events(ctx *fasthttp.RequestCtx) {
	topic, err := subject.Topic(string(ctx.QueryArgs().Peek("topic")))
	if err != nil {
		bad(ctx, err)
		return
	}
	s := p.topics.Join(topic)
	begin(ctx, subject.EventStream)
	ctx.Response.ImmediateHeaderFlush = true
	stopped := ctx.Done()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.Leave()
		for {
			select {
			case <-stopped:
				return
			case event := <-s.Events:
				if !writeAll(w, event, s.Events) {
					return
				}
			}
			// The only sign that the client has left is an error here.
			if err := w.Flush(); err != nil {
				return
			}
		}
	})
}

// writeAll writes an event, and those that wait behind it.
func writeAll(w *bufio.Writer, event []byte, more <-chan []byte) bool {
	for {
		if _, err := w.Write(event); err != nil {
			return false
		}
		select {
		case event = <-more:
		default:
			return true
		}
	}
}

func (p *push) publish(ctx *fasthttp.RequestCtx) {
	topic, err := subject.Topic(string(ctx.QueryArgs().Peek("topic")))
	if err != nil {
		bad(ctx, err)
		return
	}
	event, err := subject.Published(ctx.PostBody())
	if err != nil {
		bad(ctx, err)
		return
	}
	p.topics.Publish(topic, event)
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}

func feed(ctx *fasthttp.RequestCtx) {
	query := ctx.QueryArgs()
	spec, err := subject.ParseFeed(string(query.Peek("interval")), string(query.Peek("size")), string(query.Peek("format")))
	if err != nil {
		bad(ctx, err)
		return
	}
	periodic(ctx, spec.Type, spec.Interval, spec.NewTicks().Next)
}

// begin sets the head of an endless answer.
func begin(ctx *fasthttp.RequestCtx, contentType string) {
	ctx.SetContentType(contentType)
	ctx.Response.Header.Set("Cache-Control", "no-cache")
}

// periodic answers with what next returns, at once and then each interval.
func periodic(ctx *fasthttp.RequestCtx, contentType string, interval time.Duration, next func(time.Time) []byte) {
	begin(ctx, contentType)
	stopped := ctx.Done()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			if _, err := w.Write(next(time.Now())); err != nil {
				return
			}
			// The only sign that the client has left is an error here.
			if err := w.Flush(); err != nil {
				return
			}
			select {
			case <-stopped:
				return
			case <-ticker.C:
			}
		}
	})
}
