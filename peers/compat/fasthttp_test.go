package compat_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline"
	"github.com/valyala/fasthttp"
)

// fasthttpServer is a fasthttp.Server that ends like the others.
type fasthttpServer struct{ *fasthttp.Server }

func (s fasthttpServer) Serve(ln net.Listener) error {
	return errors.Join(s.Server.Serve(ln), http.ErrServerClosed)
}

func (s fasthttpServer) Shutdown(ctx context.Context) error { return s.ShutdownWithContext(ctx) }

// TestFromFasthttp plays a service that was written for fasthttp, and what
// docs/migrating.md makes of it.
func TestFromFasthttp(t *testing.T) {
	want := new(report)
	old := carrier{"fasthttp", func(like *http.Server) server {
		return fasthttpServer{&fasthttp.Server{Handler: fasthttpService, NoDefaultServerHeader: true, CloseOnShutdown: true, Logger: like.ErrorLog}}
	}}
	t.Run(old.name, func(t *testing.T) { playService(t, want, old.start(t, nil)) })
	if testing.Verbose() {
		t.Log(want)
	}
	for _, transport := range transports() {
		t.Run(string(transport), func(t *testing.T) {
			got := new(report)
			c := carrier{string(transport), func(like *http.Server) server {
				return &redline.Server{Transport: transport, Native: nativeService().Serve, ErrorLog: like.ErrorLog}
			}}
			playService(t, got, c.start(t, nil))
			if d := difference(want.String(), got.String()); d != "" {
				t.Errorf("differs from fasthttp:\n%s", d)
			}
		})
	}
}

func playService(t *testing.T, r *report, s *service) {
	const form = "Content-Type: application/x-www-form-urlencoded"
	r.get(t, s, "/greet?name=Ada%20L")
	r.get(t, s, "/greet")
	r.get(t, s, "/query?n=7&on=true&tag=a&tag=b%26c")
	r.get(t, s, "/head", "X-One: 1", "Cookie: seen=yes; other=no", "User-Agent: compat")
	r.do(t, s, "POST", "/form", strings.NewReader("a=1&b=x+y"), form)
	upload, kind := ginForm(t)
	r.do(t, s, "POST", "/upload", upload, "Content-Type: "+kind)
	r.do(t, s, "POST", "/echo", strings.NewReader(string(pattern(100_000))))
	r.get(t, s, "/status")
	r.get(t, s, "/cookie")
	r.get(t, s, "/redirect")
	r.get(t, s, "/lines")
	r.do(t, s, "HEAD", "/echo", nil)
	r.get(t, s, "/close")
	playHijack(t, r, s, "/hijack", "early\n")
}

// The services differ route by route as docs/migrating.md says.

func fasthttpService(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/greet":
		oldGreet(ctx)
	case "/query":
		q := ctx.QueryArgs()
		var tags []string
		for _, tag := range q.PeekMulti("tag") {
			tags = append(tags, string(tag))
		}
		n, err := q.GetUint("n")
		ctx.SetBodyString(fmt.Sprint(n, err, q.GetBool("on"), tags, q.Has("none")))
	case "/head":
		h := &ctx.Request.Header
		ctx.SetBodyString(fmt.Sprintf("%s %s %s %s %s %s", ctx.Method(), ctx.RequestURI(), h.Peek("x-one"), h.Cookie("seen"), ctx.UserAgent(), ctx.RemoteIP()))
	case "/form":
		ctx.SetBodyString(fmt.Sprintf("%s %s", ctx.PostArgs().Peek("a"), ctx.PostArgs().Peek("b")))
	case "/upload":
		f, err := ctx.FormFile("file")
		if err != nil {
			ctx.Error(err.Error(), 400)
			return
		}
		ctx.SetBodyString(fmt.Sprintf("%s of %d bytes", f.Filename, f.Size))
	case "/echo":
		ctx.Success("application/octet-stream", ctx.PostBody())
	case "/status":
		ctx.SetStatusCode(304)
	case "/cookie":
		var k fasthttp.Cookie
		k.SetKey("seen")
		k.SetValue("yes")
		k.SetHTTPOnly(true)
		ctx.Response.Header.SetCookie(&k)
		ctx.Response.Header.Add("X-Many", "1")
		ctx.Response.Header.Add("X-Many", "2")
	case "/redirect":
		ctx.Redirect("http://example.com/there", 303)
	case "/lines":
		ctx.SetContentType("text/plain")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "line %d\n", i)
				w.Flush()
			}
		})
	case "/close":
		ctx.SetConnectionClose()
	case "/hijack":
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) { echoLines(bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c))) })
	}
}

func nativeService() *redline.Router {
	r := redline.NewRouter()
	r.GET("/greet", greet)
	r.GET("/query", func(c *redline.Ctx) {
		n, err := c.QueryInt("n")
		on, wrong := c.QueryBool("on")
		all, malformed := c.QueryValues()
		_, none := c.LookupQuery("none")
		c.Text(200, fmt.Sprint(n, errors.Join(err, wrong, malformed), on, all["tag"], none))
	})
	r.GET("/head", func(c *redline.Ctx) {
		seen, _ := c.Cookie("seen")
		c.Text(200, fmt.Sprintf("%s %s %s %s %s %s", c.Method(), c.Target(), c.Header("x-one"), seen, c.Header("User-Agent"), c.RemoteAddr().(*net.TCPAddr).IP))
	})
	r.POST("/form", func(c *redline.Ctx) {
		v, err := c.FormValues(redline.DefaultMaxForm)
		if err != nil {
			c.Text(400, err.Error())
			return
		}
		c.Text(200, v.Get("a")+" "+v.Get("b"))
	})
	r.POST("/upload", nativeUpload)
	r.Handle("", "/echo", func(c *redline.Ctx) {
		body, err := c.ReadBody(1 << 20)
		if err == nil {
			err = c.Bytes(200, "application/octet-stream", body)
		}
		if err != nil {
			c.Error(400)
		}
	})
	r.GET("/status", func(c *redline.Ctx) { c.NoContent(304) })
	r.GET("/cookie", func(c *redline.Ctx) {
		err := errors.Join(c.SetCookie(&http.Cookie{Name: "seen", Value: "yes", HttpOnly: true}), c.AddHeader("X-Many", "1"), c.AddHeader("X-Many", "2"))
		if err != nil {
			c.Error(500)
		}
	})
	r.GET("/redirect", func(c *redline.Ctx) {
		c.Status(303)
		if err := c.SetHeader("Location", "http://example.com/there"); err != nil {
			c.Error(500)
		}
	})
	r.GET("/lines", func(c *redline.Ctx) {
		if err := c.SetHeader("Content-Type", "text/plain"); err != nil {
			c.Error(500)
			return
		}
		for i := range 3 {
			if _, err := fmt.Fprintf(c, "line %d\n", i); err != nil || c.Flush() != nil {
				return
			}
		}
	})
	r.GET("/close", func(c *redline.Ctx) {
		c.CloseConn()
	})
	r.GET("/hijack", func(c *redline.Ctx) {
		conn, err := c.Hijack()
		if err != nil {
			c.Error(500)
			return
		}
		defer conn.Close()
		echoLines(bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)))
	})
	return r
}

func nativeUpload(c *redline.Ctx) {
	parts, err := c.Multipart()
	for err == nil {
		part, next := parts.Next()
		if err = next; err == nil && part.FormName() == "file" {
			n, failed := io.Copy(io.Discard, part)
			if failed == nil {
				c.Text(200, fmt.Sprintf("%s of %d bytes", part.FileName(), n))
				return
			}
			err = failed
		}
	}
	c.Text(400, err.Error())
}
