// Command fiber is the subject on gofiber/fiber, with the JSON library that its
// guide to speed names first.
package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/goccy/go-json"
	"github.com/gofiber/fiber/v3"
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("fiber", "github.com/gofiber/fiber/v3", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	app := fiber.New(fiber.Config{
		ServerHeader:                 "fiber",
		JSONEncoder:                  json.Marshal,
		JSONDecoder:                  json.Unmarshal,
		BodyLimit:                    subject.BodyLimit,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
	})
	app.Get("/plaintext", plaintext)
	app.Get("/json", encode)
	app.Post("/echo", echo)
	app.Post("/upload", upload)
	app.Get("/bytes", sized)
	app.Post("/order", order)
	app.Get("/stream", stream)
	asks := asks{backend.Open()}
	app.Get("/redis", asks.redis)
	app.Get("/wait", asks.wait)
	app.Get("/postgres", asks.postgres)
	app.Get("/fanout", asks.fanout)
	app.Get("/burn", burn)

	ln, err := subject.Secure(ln)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- app.Listener(ln, fiber.ListenConfig{DisableStartupMessage: true}) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// Streams end because shutting down closes the channel of RequestCtx.Done first.
	err = app.ShutdownWithTimeout(subject.Grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what is left open ends with the process
	}
	return err
}

func plaintext(c fiber.Ctx) error { return c.SendString(subject.Hello) }

func encode(c fiber.Ctx) error {
	return c.JSON(subject.Message{Message: subject.Hello})
}

func echo(c fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	if n := c.Request().Header.ContentLength(); n >= 0 && n <= subject.BodyLimit {
		return c.Send(c.BodyRaw())
	}
	n, err := io.Copy(c.Response().BodyWriter(), limited(c))
	return bodyError(c, n, err)
}

func upload(c fiber.Ctx) error {
	n, err := io.Copy(io.Discard, limited(c))
	if err := bodyError(c, n, err); err != nil {
		return err
	}
	return c.SendString(strconv.FormatInt(n, 10))
}

// limited is the request's body up to one byte more than is allowed: in streaming
// mode the server leaves the limit to the handler.
func limited(c fiber.Ctx) io.Reader {
	body := c.Request().BodyStream()
	if body == nil {
		return eof{}
	}
	return io.LimitReader(body, subject.BodyLimit+1)
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// bodyError also closes the connection, since the rest of the body is still to
// come.
func bodyError(c fiber.Ctx, n int64, err error) error {
	if err == nil && n <= subject.BodyLimit {
		return nil
	}
	c.RequestCtx().SetConnectionClose()
	if err != nil {
		return fiber.NewError(fiber.StatusBadRequest, err.Error())
	}
	return fiber.ErrRequestEntityTooLarge
}

func stream(c fiber.Ctx) error {
	spec, err := subject.ParseStream(c.Query("interval"), c.Query("size"))
	if err != nil {
		return fiber.NewError(fiber.StatusBadRequest, err.Error())
	}
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-cache")
	stopped := c.RequestCtx().Done()
	return c.SendStreamWriter(func(w *bufio.Writer) {
		event := spec.NewEvent()
		ticker := time.NewTicker(spec.Interval)
		defer ticker.Stop()
		for {
			if _, err := w.Write(event.Stamp(time.Now())); err != nil {
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
