package redline_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// attacks are values that would end a line early, or the head.
var attacks = []string{
	"a\r\nSet-Cookie: evil=1", "a\nEvil: 1", "a\rEvil: 1", "a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "\x00", "a\x7f", "\x0b",
}

// setters are all ways in which a handler's text gets into a head or a trailer
// section; fasthttp#2162, #2182 to #2186.
var setters = []struct {
	name string
	set  func(c *redline.Ctx, value string) error
}{
	{"SetHeader", func(c *redline.Ctx, v string) error { return c.SetHeader("A", v) }},
	{"SetHeader's name", func(c *redline.Ctx, v string) error { return c.SetHeader(v, "x") }},
	{"AddHeader", func(c *redline.Ctx, v string) error { return c.AddHeader("A", v) }},
	{"AddHeader's name", func(c *redline.Ctx, v string) error { return c.AddHeader(v, "x") }},
	{"SetTrailer", func(c *redline.Ctx, v string) error { return c.SetTrailer("A", v) }},
	{"SetTrailer's name", func(c *redline.Ctx, v string) error { return c.SetTrailer(v, "x") }},
	{"SetCookie's name", func(c *redline.Ctx, v string) error { return c.SetCookie(&http.Cookie{Name: v, Value: "x"}) }},
	{"SetCookie's value", func(c *redline.Ctx, v string) error { return c.SetCookie(&http.Cookie{Name: "a", Value: v}) }},
	{"SetCookie's path", func(c *redline.Ctx, v string) error {
		return c.SetCookie(&http.Cookie{Name: "a", Value: "x", Path: v})
	}},
	{"SetCookie's domain", func(c *redline.Ctx, v string) error {
		return c.SetCookie(&http.Cookie{Name: "a", Value: "x", Domain: v})
	}},
	{"Redirect", func(c *redline.Ctx, v string) error { return c.Redirect(302, v) }},
	{"Bytes' type", func(c *redline.Ctx, v string) error { return c.Bytes(200, v, []byte("x")) }},
	{"Static's type", func(c *redline.Ctx, v string) error { return c.BytesNoCopy(200, v, []byte("x")) }},
	{"Prebuild's type", func(_ *redline.Ctx, v string) error {
		_, err := redline.Prebuild(200, v, []byte("x"))
		return err
	}},
}

// TestResponseSplitting wants every setter to refuse every attack, and nothing of
// it to be written.
func TestResponseSplitting(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			for _, s := range setters {
				for _, v := range attacks {
					if err := s.set(c, v); err == nil {
						t.Errorf("%s takes %q", s.name, v)
					}
				}
			}
			c.Text(200, "whole")
		}})
		c := r.dial()
		c.ask("/")
		resp := c.response()
		for name, values := range resp.Header {
			if name != "Date" && name != "Content-Type" && name != "Content-Length" {
				t.Errorf("%s: %q was written", name, values)
			}
		}
		if len(resp.Trailer) > 0 || resp.ContentLength != 5 {
			t.Errorf("trailers %v, length %d", resp.Trailer, resp.ContentLength)
		}
	})
}

// TestFramingFields refuses what the server says itself.
func TestFramingFields(t *testing.T) {
	r := serve(t, &redline.Server{Native: func(c *redline.Ctx) {
		for _, name := range []string{"Content-Length", "transfer-encoding", "CONTENT-LENGTH"} {
			if err := c.SetHeader(name, "5"); err == nil {
				t.Errorf("SetHeader takes %s", name)
			}
			if err := c.AddHeader(name, "5"); err == nil {
				t.Errorf("AddHeader takes %s", name)
			}
		}
		for _, name := range []string{"Content-Length", "Transfer-Encoding", "host", "Connection", "Trailer", "Content-Type", "Set-Cookie"} {
			if err := c.SetTrailer(name, "x"); err == nil {
				t.Errorf("SetTrailer takes %s", name)
			}
		}
		c.Text(200, "x")
		if err := c.Flush(); err != nil {
			t.Error(err)
		}
		if err := c.SetHeader("A", "b"); !errors.Is(err, redline.ErrHeadSent) {
			t.Errorf("SetHeader behind the head: %v", err)
		}
		c.SetContentLength(7)
	}})
	c := r.dial()
	c.want("/", "x")
	c.want("/", "x")
}

// TestServerName refuses a name that is no field value before it serves.
func TestServerName(t *testing.T) {
	s := &redline.Server{Name: "a\r\nb: c", Native: text("x")}
	if _, err := s.Listen("127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "Server.Name") {
		t.Errorf("Listen: %v", err)
	}
	r := serve(t, &redline.Server{Name: "redline/1", Native: text("x")})
	c := r.dial()
	c.ask("/")
	if resp := c.response(); resp.Header.Get("Server") != "redline/1" {
		t.Errorf("Server: %q", resp.Header["Server"])
	}
}

// TestPrebuild refuses what cannot be a response.
func TestPrebuild(t *testing.T) {
	for _, code := range []int{0, 100, 199, 600} {
		if _, err := redline.Prebuild(code, "text/plain", nil); err == nil {
			t.Errorf("status %d", code)
		}
	}
	for _, code := range []int{204, 205, 304} {
		if _, err := redline.Prebuild(code, "text/plain", []byte("x")); !errors.Is(err, redline.ErrNoBody) {
			t.Errorf("status %d with a body: %v", code, err)
		}
	}
	large := strings.Repeat("large ", 10000)
	bodies := map[string]string{"/empty": "", "/small": "small", "/large": large}
	pre := map[string]*redline.Prebuilt{}
	for path, body := range bodies {
		p, err := redline.Prebuild(200, "text/plain", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		pre[path] = p
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) { c.Send(pre[c.Path()]) }})
		c := r.dial()
		for path, body := range bodies {
			c.want(path, body)
			c.send("HEAD %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
			req := &http.Request{Method: "HEAD"}
			resp, err := http.ReadResponse(c.r, req)
			if err != nil || resp.ContentLength != int64(len(body)) || resp.Header.Get("Content-Type") != "text/plain" {
				t.Errorf("HEAD %s: %+v, %v", path, resp, err)
			}
		}
		c.send("GET /small HTTP/1.0\r\n\r\n")
		if resp := c.response(); !resp.Close {
			t.Errorf("to HTTP/1.0: %v", fmt.Sprint(resp.Header))
		}
	})
}
