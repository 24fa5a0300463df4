// Command fasthttp is the subject on valyala/fasthttp, without a router.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strconv"

	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/subject"
	"github.com/valyala/fasthttp"
)

func main() { subject.Main("fasthttp", "github.com/valyala/fasthttp", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	app := app{asks: asks{backend.Open()}, push: new(push)}
	server := &fasthttp.Server{
		Name:                         "fasthttp",
		Handler:                      app.handle,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		MaxRequestBodySize:           subject.BodyLimit,
	}
	ln, err := subject.Secure(ln)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), subject.Grace)
	defer cancel()
	// Streams end because Shutdown closes the channel of RequestCtx.Done first.
	err = server.ShutdownWithContext(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what is left open ends with the process
	}
	return err
}

// app is the service.
type app struct {
	asks
	push *push
}

func (a app) handle(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/plaintext":
		only(ctx, fasthttp.MethodGet, plaintext)
	case "/json":
		only(ctx, fasthttp.MethodGet, encode)
	case "/echo":
		only(ctx, fasthttp.MethodPost, echo)
	case "/upload":
		only(ctx, fasthttp.MethodPost, upload)
	case "/bytes":
		only(ctx, fasthttp.MethodGet, sized)
	case "/order":
		only(ctx, fasthttp.MethodPost, order)
	case "/stream":
		only(ctx, fasthttp.MethodGet, stream)
	case "/feed":
		only(ctx, fasthttp.MethodGet, feed)
	case "/events":
		only(ctx, fasthttp.MethodGet, a.push.events)
	case "/publish":
		only(ctx, fasthttp.MethodPost, a.push.publish)
	case "/redis":
		only(ctx, fasthttp.MethodGet, a.redis)
	case "/wait":
		only(ctx, fasthttp.MethodGet, a.wait)
	case "/postgres":
		only(ctx, fasthttp.MethodGet, a.postgres)
	case "/fanout":
		only(ctx, fasthttp.MethodGet, a.fanout)
	case "/burn":
		only(ctx, fasthttp.MethodGet, burn)
	default:
		ctx.Error("not found", fasthttp.StatusNotFound)
	}
}

func only(ctx *fasthttp.RequestCtx, method string, handler fasthttp.RequestHandler) {
	if string(ctx.Method()) != method {
		ctx.Error("method not allowed", fasthttp.StatusMethodNotAllowed)
		return
	}
	handler(ctx)
}

func plaintext(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(subject.Hello)
}

func encode(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/json")
	if err := json.NewEncoder(ctx).Encode(subject.Message{Message: subject.Hello}); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
	}
}

func echo(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/octet-stream")
	if n := ctx.Request.Header.ContentLength(); n >= 0 && n <= subject.BodyLimit {
		ctx.SetBody(ctx.PostBody())
		return
	}
	if n, err := io.Copy(ctx, limited(ctx)); err != nil || n > subject.BodyLimit {
		bodyError(ctx, err)
	}
}

func upload(ctx *fasthttp.RequestCtx) {
	n, err := io.Copy(io.Discard, limited(ctx))
	if err != nil || n > subject.BodyLimit {
		bodyError(ctx, err)
		return
	}
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBody(strconv.AppendInt(nil, n, 10))
}

// limited is the request's body up to one byte more than is allowed: in streaming
// mode the server leaves the limit to the handler.
func limited(ctx *fasthttp.RequestCtx) io.Reader {
	body := ctx.RequestBodyStream()
	if body == nil {
		return eof{}
	}
	return io.LimitReader(body, subject.BodyLimit+1)
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// bodyError also closes the connection, since the rest of the body is still to
// come.
func bodyError(ctx *fasthttp.RequestCtx, err error) {
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
	} else {
		ctx.Error("request body too large", fasthttp.StatusRequestEntityTooLarge)
	}
	ctx.SetConnectionClose()
}

func stream(ctx *fasthttp.RequestCtx) {
	query := ctx.QueryArgs()
	spec, err := subject.ParseStream(string(query.Peek("interval")), string(query.Peek("size")))
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	periodic(ctx, subject.EventStream, spec.Interval, spec.NewEvent().Stamp)
}
