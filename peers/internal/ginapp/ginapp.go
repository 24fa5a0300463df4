// Package ginapp is the service of the subjects on gin-gonic/gin: release mode, no
// middleware.
package ginapp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/subject"
)

// Handler returns the service, all of it.
func Handler() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/plaintext", plaintext)
	r.GET("/json", encode)
	r.POST("/echo", limitBody, echo)
	r.POST("/upload", limitBody, upload)
	r.GET("/bytes", sized)
	r.POST("/order", limitBody, order)
	r.GET("/stream", stream)
	asks := asks{backend.Open()}
	r.GET("/redis", asks.redis)
	r.GET("/wait", asks.wait)
	r.GET("/postgres", asks.postgres)
	r.GET("/fanout", asks.fanout)
	r.GET("/burn", burn)
	return r
}

const (
	textPlain   = "text/plain; charset=utf-8"
	octetStream = "application/octet-stream"
)

var hello = []byte(subject.Hello)

func plaintext(c *gin.Context) { c.Data(http.StatusOK, textPlain, hello) }

func encode(c *gin.Context) {
	c.JSON(http.StatusOK, subject.Message{Message: subject.Hello})
}

func limitBody(c *gin.Context) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, subject.BodyLimit)
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func echo(c *gin.Context) {
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(c.Request.Body); err != nil {
		bodyError(c, err)
		return
	}
	c.Header("Content-Length", strconv.Itoa(body.Len()))
	c.Data(http.StatusOK, octetStream, body.Bytes())
}

func upload(c *gin.Context) {
	n, err := io.Copy(io.Discard, c.Request.Body)
	if err != nil {
		bodyError(c, err)
		return
	}
	c.Data(http.StatusOK, textPlain, strconv.AppendInt(nil, n, 10))
}

func bodyError(c *gin.Context, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		c.String(http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	c.String(http.StatusBadRequest, err.Error())
}

func stream(c *gin.Context) {
	spec, err := subject.ParseStream(c.Query("interval"), c.Query("size"))
	if err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	c.Header("Content-Type", "text/event-stream")
	c.Header("Cache-Control", "no-cache")
	event := spec.NewEvent()
	ticker := time.NewTicker(spec.Interval)
	defer ticker.Stop()
	for {
		if _, err := c.Writer.Write(event.Stamp(time.Now())); err != nil {
			return
		}
		c.Writer.Flush()
		select {
		case <-c.Request.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
