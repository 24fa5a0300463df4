package redline_test

import (
	"errors"
	"io"
	"testing"

	"github.com/redline-go/redline"
)

// TestWriteBehindHijack is an error, and nothing of it reaches the client.
func TestWriteBehindHijack(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			nc, err := c.Hijack()
			noError(t, err)
			defer nc.Close()
			_, write := c.Write([]byte("lost"))
			_, text := c.WriteString("lost")
			_, large := c.Write(make([]byte, 1<<20))
			_, again := c.Hijack()
			for _, err := range []error{write, text, large, again, c.Flush()} {
				if !errors.Is(err, redline.ErrHijacked) {
					t.Errorf("behind Hijack: %v", err)
				}
			}
			c.Text(200, "lost")
			_, err = io.WriteString(nc, "raw")
			noError(t, err)
		}})
		c := r.dial()
		c.ask("/")
		if b, err := io.ReadAll(c.r); string(b) != "raw" || err != nil {
			t.Errorf("client reads %q, %v", b, err)
		}
	})
}

// TestHijackBehindWrite is an error, and the response is sent.
func TestHijackBehindWrite(t *testing.T) {
	whole, err := redline.Prebuild(200, "text/plain", []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(c *redline.Ctx) error{
		"Write":   func(c *redline.Ctx) error { _, err := c.Write([]byte("abc")); return err },
		"Text":    func(c *redline.Ctx) error { c.Text(200, "abc"); return nil },
		"Static":  func(c *redline.Ctx) error { return c.BytesNoCopy(200, "text/plain", []byte("abc")) },
		"Send":    func(c *redline.Ctx) error { c.Send(whole); return nil },
		"flushed": func(c *redline.Ctx) error { _, err := c.WriteString("abc"); return errors.Join(err, c.Flush()) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
					noError(t, write(c))
					if _, err := c.Hijack(); !errors.Is(err, redline.ErrHeadSent) {
						t.Errorf("Hijack: %v", err)
					}
				}}).dial().want("/", "abc")
			})
		})
	}
}
