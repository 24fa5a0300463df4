package redline_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// misuse calls every method that needs a Ctx in use.
var misuse = map[string]func(c *redline.Ctx){
	"Method":      func(c *redline.Ctx) { c.Method() },
	"Path":        func(c *redline.Ctx) { c.Path() },
	"Header":      func(c *redline.Ctx) { c.Header("A") },
	"HeaderBytes": func(c *redline.Ctx) { c.HeaderBytes("A") },
	"Query":       func(c *redline.Ctx) { c.Query("a") },
	"Param":       func(c *redline.Ctx) { c.Param("a") },
	"Text":        func(c *redline.Ctx) { c.Text(200, "stale") },
	"Write":       func(c *redline.Ctx) { _, _ = c.Write([]byte("stale")) },
	"SetHeader":   func(c *redline.Ctx) { _ = c.SetHeader("A", "stale") },
	"Context":     func(c *redline.Ctx) { c.Context() },
	"Stream":      func(c *redline.Ctx) { c.Stream(func(*redline.Stream) {}) },
	"Body":        func(c *redline.Ctx) { _, _ = c.Body().Read(make([]byte, 1)) },
	"RemoteAddr":  func(c *redline.Ctx) { c.RemoteAddr() },
	"Set":         func(c *redline.Ctx) { c.Set(1, 2) },
	"Detach":      func(c *redline.Ctx) { c.Detach() },
	"Hijack":      func(c *redline.Ctx) { _, _ = c.Hijack() },
	"Send":        func(c *redline.Ctx) { c.Send(new(redline.Prebuilt)) },
}

// wantMisuse wants all methods of a stale Ctx to panic and say what to do.
func wantMisuse(t *testing.T, c *redline.Ctx) {
	t.Helper()
	for name, use := range misuse {
		func() {
			defer func() {
				if msg, _ := recover().(string); !strings.Contains(msg, "after its handler returned") || !strings.Contains(msg, "Ctx.Stream") {
					t.Errorf("%s of a stale Ctx: %q", name, msg)
				}
			}()
			use(c)
		}()
	}
}

// TestStaleCtx keeps a Ctx and uses it when its handler has returned: at once, and
// many requests later, while others are served.
func TestStaleCtx(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		kept := make(chan *redline.Ctx, 1)
		var body io.Reader
		var stale *redline.Ctx
		idle := make(chan bool, 10000) // the handler has returned for certain
		told := func(_ net.Conn, s http.ConnState) {
			if s == http.StateIdle {
				idle <- true
			}
		}
		r := serve(t, &redline.Server{Transport: transport, ConnState: told, Native: func(c *redline.Ctx) {
			switch c.Path() {
			case "/keep":
				body = c.Body()
				kept <- c
			case "/misuse":
				wantMisuse(t, stale)
			}
			c.Text(200, "x")
		}})
		c := r.dial()
		c.want("/keep", "x")
		stale = receive(t, kept, "the handler has run")
		receive(t, idle, "the handler has returned")
		wantMisuse(t, stale)
		for range 1000 {
			c.want("/", "x")
		}
		wantMisuse(t, stale)
		c.want("/misuse", "x")
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a stale body can be read")
				}
			}()
			_, _ = body.Read(make([]byte, 1))
		}()
		c.want("/", "x")
	})
}

// TestPanic answers 500, says so in the log with the stack, and serves on.
func TestPanic(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			switch c.Path() {
			case "/panic":
				if err := c.SetHeader("A", "b"); err != nil {
					t.Error(err)
				}
				c.Text(200, "half")
				panic("spilled")
			case "/nil":
				var none *http.Request
				none.Method = "x"
			case "/abort":
				panic(redline.ErrAbort)
			case "/begun":
				if _, err := c.WriteString("part"); err != nil {
					t.Error(err)
				}
				if err := c.Flush(); err != nil {
					t.Error(err)
				}
				panic("late")
			case "/ok":
				c.Text(200, "ok")
			}
		}})
		for _, path := range []string{"/panic", "/nil"} {
			c := r.dial()
			c.ask("/ok", path, "/ok")
			if status, body := c.answer(); status != 200 || body != "ok" {
				t.Errorf("before %s: %d %q", path, status, body)
			}
			resp := c.response()
			b, err := io.ReadAll(resp.Body)
			if resp.StatusCode != 500 || err != nil || string(b) != "Internal Server Error\n" || resp.Header.Get("A") != "" || !resp.Close {
				t.Errorf("%s: %v %q %v", path, resp, b, err)
			}
			c.wantGone()
		}
		if log := r.log.String(); !strings.Contains(log, "spilled") || !strings.Contains(log, "ctx_test.go") || !strings.Contains(log, "path=/nil") {
			t.Errorf("log: %s", log)
		}
		before := r.log.String()
		c := r.dial()
		c.ask("/abort", "/ok")
		c.wantGone()
		if r.log.String() != before {
			t.Error("ErrAbort is in the log")
		}
		for _, proto := range []string{"1.1", "1.0"} {
			c = r.dial()
			c.send("GET /begun HTTP/%s\r\nHost: h\r\n\r\n", proto)
			if b, err := io.ReadAll(c.response().Body); err == nil {
				t.Errorf("HTTP/%s: %q looks like the whole answer", proto, b)
			}
		}
		if n := r.Stats().Panics; n != 5 {
			t.Errorf("%d panics are counted, want 5", n)
		}
	})
}

// TestAnnouncedLength cuts what does not keep to its announced length.
func TestAnnouncedLength(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			c.SetContentLength(4)
			switch c.Path() {
			case "/exact":
				for _, part := range []string{"ab", "cd"} {
					if _, err := c.WriteString(part); err != nil {
						t.Error(err)
					}
				}
			case "/long":
				_, err1 := c.WriteString("abcd")
				_, err2 := c.WriteString("e")
				_, err3 := c.Write([]byte("e"))
				if err1 != nil || !errors.Is(err2, redline.ErrLength) || !errors.Is(err3, redline.ErrLength) {
					t.Error(err1, err2, err3)
				}
			case "/short":
				if _, err := c.WriteString("abc"); err != nil {
					t.Error(err)
				}
			case "/text":
				c.Text(200, "more than four")
			}
		}})
		c := r.dial()
		c.want("/exact", "abcd")
		c.want("/long", "abcd")
		c.ask("/short")
		if b, err := io.ReadAll(c.response().Body); err == nil {
			t.Errorf("%q looks like the whole answer", b)
		}
		c = r.dial()
		c.ask("/text")
		c.wantGone()
	})
}

// TestGetters reads a request in every way.
func TestGetters(t *testing.T) {
	router := redline.NewRouter()
	router.POST("/a/{x}/{y...}", func(c *redline.Ctx) {
		n, err := c.QueryInt("n")
		_, bad := c.QueryInt("bad")
		var pe *redline.ParamError
		if err != nil || !errors.As(bad, &pe) || pe.Name != "bad" {
			t.Error(err, bad)
		}
		v, ok := c.LookupQuery("e")
		none, has := c.LookupQuery("none")
		k, _ := c.Cookie("k")
		body, err := c.ReadBody(10)
		if err != nil {
			t.Error(err)
		}
		c.Text(200, fmt.Sprintln(c.Method(), c.Path(), c.RawQuery(), c.Host(), c.Proto(), c.Header("x-a"), c.Param("x"), c.Param("y"), string(c.ParamBytes("x")),
			n, v, ok, none, has, k, string(body), c.ContentLength(), c.Pattern(), c.Target(), c.Trailer("T")))
	})
	r := serve(t, &redline.Server{Native: router.Serve})
	c := r.dial()
	c.send("POST /a/b%%20c/d/e?n=7&bad=x&e=%%41+b HTTP/1.1\r\nHost: h:1\r\nX-A: v\r\nCookie: k=w\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nT: u\r\n\r\n")
	want := "POST /a/b%20c/d/e n=7&bad=x&e=%41+b h:1 HTTP/1.1 v b c d/e b%20c 7 A b true  false w body -1 /a/{x}/{y...} /a/b%20c/d/e?n=7&bad=x&e=%41+b u\n"
	if status, got := c.answer(); status != 200 || got != want {
		t.Errorf("%d\n%s want\n%s", status, got, want)
	}
}
