// Package echoapp is the service of the subjects on labstack/echo.
package echoapp

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/subject"
)

// Handler returns the service, all of it.
func Handler() http.Handler {
	limit := middleware.BodyLimit(strconv.Itoa(subject.BodyLimit))
	e := echo.New()
	push := new(push)
	e.GET("/plaintext", plaintext)
	e.GET("/json", encode)
	e.POST("/echo", reply, limit)
	e.POST("/upload", upload, limit)
	e.GET("/bytes", sized)
	e.POST("/order", order, limit)
	e.GET("/stream", stream)
	e.GET("/feed", feed)
	e.GET("/events", push.events)
	e.POST("/publish", push.publish)
	asks := asks{backend.Open()}
	e.GET("/redis", asks.redis)
	e.GET("/wait", asks.wait)
	e.GET("/postgres", asks.postgres)
	e.GET("/fanout", asks.fanout)
	e.GET("/burn", burn)
	return e
}

var hello = []byte(subject.Hello)

func plaintext(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMETextPlainCharsetUTF8, hello)
}

func encode(c echo.Context) error {
	return c.JSON(http.StatusOK, subject.Message{Message: subject.Hello})
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func reply(c echo.Context) error {
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(c.Request().Body); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(body.Len()))
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, body.Bytes())
}

func upload(c echo.Context) error {
	n, err := io.Copy(io.Discard, c.Request().Body)
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, echo.MIMETextPlainCharsetUTF8, strconv.AppendInt(nil, n, 10))
}

func stream(c echo.Context) error {
	spec, err := subject.ParseStream(c.QueryParam("interval"), c.QueryParam("size"))
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, err.Error())
	}
	return periodic(c, subject.EventStream, spec.Interval, spec.NewEvent().Stamp)
}
