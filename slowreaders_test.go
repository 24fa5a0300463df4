package redline_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestSlowReadersMove has clients that are slow, but move, take large answers whose
// connections close behind them: they get all of it, however long that takes
// compared with StallTimeout; also while the server shuts down.
func TestSlowReadersMove(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	answers := map[string]func(c *redline.Ctx) error{
		"/static": func(c *redline.Ctx) error { return c.BytesNoCopy(200, "text/plain", body) },
		"/bytes":  func(c *redline.Ctx) error { return c.Bytes(200, "text/plain", body) },
		"/writes": func(c *redline.Ctx) (err error) {
			c.SetContentLength(int64(len(body)))
			for at := 0; at < len(body) && err == nil; at += 10_000 {
				_, err = c.Write(body[at:min(at+10_000, len(body))])
			}
			return err
		},
		"/http": func(c *redline.Ctx) (err error) {
			redline.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				_, err = w.Write(body)
			}))(c)
			return err
		},
	}
	// read takes the answer in a time of many deadlines.
	read := func(c *client, deadline time.Duration) (n int64, err error) {
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		for n < int64(len(body)) && err == nil {
			var k int64
			k, err = io.CopyN(io.Discard, resp.Body, 1<<20)
			n += k
			time.Sleep(deadline / 4)
		}
		return n, err
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var all sync.WaitGroup // they mostly wait
		for path, answer := range answers {
			for _, how := range []string{"close", "keep-alive", "shutdown"} {
				all.Go(func() {
					inTime(t, func(deadline time.Duration) error {
						said := make(chan error, 1)
						r := serve(t, &redline.Server{
							Transport: transport, StallTimeout: deadline,
							Native: func(c *redline.Ctx) { said <- answer(c) },
						})
						c := r.dial()
						noError(t, c.tcp().SetReadBuffer(64<<10))
						c.send("GET %s HTTP/1.1\r\nHost: h\r\nConnection: %s\r\n\r\n", path, strings.Replace(how, "shutdown", "close", 1))
						if how == "shutdown" {
							if _, err := c.r.Peek(1); err != nil {
								return err
							}
							go r.shutdown(patience)
						}
						n, err := read(c, deadline)
						if err == nil && n != int64(len(body)) {
							t.Errorf("%s, %s: %d bytes", path, how, n)
						}
						return errors.Join(err, receive(t, said, "the handler returns"))
					})
				})
			}
		}
		all.Wait()
	})
}
