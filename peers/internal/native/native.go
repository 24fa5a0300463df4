// Package native is the service of the redline subjects: one set of native
// handlers, on the transport that each subject names.
package native

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/engine"
	"github.com/redline-go/redline/peers/internal/subject"
)

// Main runs the subject with that name on a transport of package redline.
func Main(name string, transport redline.Transport) {
	subject.Main(name, "github.com/redline-go/redline", func(ctx context.Context, ln net.Listener) error {
		return serve(ctx, ln, transport)
	})
}

func serve(ctx context.Context, ln net.Listener, transport redline.Transport) error {
	r := redline.NewRouter()
	push, err := newPusher(ctx)
	if err != nil {
		return err
	}
	r.GET("/plaintext", plaintext)
	r.GET("/json", encode)
	r.POST("/echo", echo)
	r.POST("/upload", upload)
	r.GET("/bytes", sized)
	r.POST("/order", order)
	r.GET("/stream", func(c *redline.Ctx) { stream(ctx, c) })
	r.GET("/feed", func(c *redline.Ctx) { feed(ctx, c) })
	r.GET("/events", push.events)
	r.POST("/publish", push.publish)
	asks := asks{backend.Open()}
	r.GET("/redis", asks.redis)
	r.GET("/wait", asks.wait)
	r.GET("/postgres", asks.postgres)
	r.GET("/fanout", asks.fanout)
	r.GET("/burn", burn)
	server := &redline.Server{
		Native: r.Serve, Transport: transport, Name: "redline",
		Limits: redline.Limits{MaxBodyBytes: subject.BodyLimit},
	}
	return engine.Serve(ctx, ln, server)
}

func plaintext(c *redline.Ctx) { c.Text(200, subject.Hello) }

func encode(c *redline.Ctx) {
	if err := c.JSON(200, subject.Message{Message: subject.Hello}); err != nil {
		c.Error(500)
	}
}

func echo(c *redline.Ctx) {
	body, err := c.ReadBody(subject.BodyLimit)
	if err != nil {
		c.Error(400)
		return
	}
	if err := c.Bytes(200, "application/octet-stream", body); err != nil {
		c.Error(500)
	}
}

func upload(c *redline.Ctx) {
	n, err := io.Copy(io.Discard, c.Body())
	switch {
	case errors.Is(err, redline.ErrBodyTooLong):
		c.Error(413)
	case err != nil:
		c.Error(400)
	default:
		c.Text(200, strconv.FormatInt(n, 10))
	}
}

// stream continues on its own goroutine.
func stream(ctx context.Context, c *redline.Ctx) {
	s, err := subject.ParseStream(c.Query("interval"), c.Query("size"))
	if err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	periodic(ctx, c, subject.EventStream, s.Interval, s.NewEvent().Stamp)
}
