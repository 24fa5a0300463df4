// Command hertz is the subject on cloudwego/hertz with its own network library,
// netpoll.
package main

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/config"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
	"github.com/cloudwego/hertz/pkg/protocol/sse"
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("hertz", "github.com/cloudwego/hertz", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	hlog.SetLevel(hlog.LevelError)
	hlog.SetSilentMode(true) // connections that clients break off are no news
	secure, err := subject.OnlyHTTP1()
	if err != nil {
		return err
	}
	options := []config.Option{
		server.WithListener(ln),
		server.WithStreamBody(true),
		server.WithDisablePreParseMultipartForm(true),
		server.WithMaxRequestBodySize(subject.BodyLimit),
		server.WithSenseClientDisconnection(true), // streams need it
		server.WithDisablePrintRoute(true),
		server.WithExitWaitTime(subject.Grace),
	}
	if secure != nil {
		options = append(options, server.WithTLS(secure)) // netpoll has no TLS: hertz uses net instead
	}
	h := server.New(options...)
	h.GET("/plaintext", plaintext)
	h.GET("/json", encode)
	h.POST("/echo", echo)
	h.POST("/upload", upload)
	h.GET("/bytes", sized)
	h.POST("/order", order)
	h.GET("/stream", func(client context.Context, c *app.RequestContext) { stream(ctx, client, c) })
	asks := asks{backend.Open()}
	h.GET("/redis", asks.redis)
	h.GET("/wait", asks.wait)
	h.GET("/postgres", asks.postgres)
	h.GET("/fanout", asks.fanout)
	h.GET("/burn", burn)

	served := make(chan error, 1)
	go func() { served <- h.Run() }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	err = h.Shutdown(context.Background())
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what is left open ends with the process
	}
	return err
}

const textPlain = "text/plain; charset=utf-8"

var hello = []byte(subject.Hello)

func plaintext(_ context.Context, c *app.RequestContext) {
	c.Data(consts.StatusOK, textPlain, hello)
}

func encode(_ context.Context, c *app.RequestContext) {
	c.JSON(consts.StatusOK, subject.Message{Message: subject.Hello})
}

func echo(_ context.Context, c *app.RequestContext) {
	var body []byte
	var err error
	if n := c.Request.Header.ContentLength(); n >= 0 && n <= subject.BodyLimit {
		body, err = c.Body()
	} else {
		body, err = io.ReadAll(limited(c))
	}
	if err != nil || len(body) > subject.BodyLimit {
		bodyError(c, err)
		return
	}
	c.Data(consts.StatusOK, "application/octet-stream", body)
}

func upload(_ context.Context, c *app.RequestContext) {
	n, err := io.Copy(io.Discard, limited(c))
	if err != nil || n > subject.BodyLimit {
		bodyError(c, err)
		return
	}
	c.Data(consts.StatusOK, textPlain, strconv.AppendInt(nil, n, 10))
}

// limited is the request's body up to one byte more than is allowed: in streaming
// mode the server leaves the limit to the handler.
func limited(c *app.RequestContext) io.Reader {
	return io.LimitReader(c.RequestBodyStream(), subject.BodyLimit+1)
}

// bodyError also closes the connection, since the rest of the body is still to
// come.
func bodyError(c *app.RequestContext, err error) {
	if err != nil {
		c.String(consts.StatusBadRequest, err.Error())
	} else {
		c.String(consts.StatusRequestEntityTooLarge, "request body too large")
	}
	c.SetConnectionClose()
}

func stream(stop, client context.Context, c *app.RequestContext) {
	spec, err := subject.ParseStream(c.Query("interval"), c.Query("size"))
	if err != nil {
		c.String(consts.StatusBadRequest, err.Error())
		return
	}
	w := sse.NewWriter(c)
	event := spec.NewEvent()
	ticker := time.NewTicker(spec.Interval)
	defer ticker.Stop()
	for {
		if err := w.WriteEvent("", "", event.StampData(time.Now())); err != nil {
			return
		}
		select {
		case <-client.Done():
			return
		case <-stop.Done():
			return
		case <-ticker.C:
		}
	}
}
