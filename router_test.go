package redline_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// echoRoute answers with the route's pattern and parameters.
func echoRoute(names ...string) redline.HandlerFunc {
	return func(c *redline.Ctx) {
		s := c.Pattern()
		for _, n := range names {
			s += " " + n + "=" + c.Param(n)
		}
		c.Text(200, s)
	}
}

// routed are requests and what the routes of TestRouter make of them.
var routed = []struct{ method, path, want string }{
	{"GET", "/", "/"},
	{"GET", "http://h", "/"}, // RFC 9110, 4.2.3
	{"GET", "/?q", "/"},
	{"GET", "/a", "/a"},
	{"GET", "/a/", "/a/"},
	{"GET", "/a/b", "/a/b"},
	{"GET", "/a/bb", "/a/{x} x=bb"},
	{"GET", "/a/%62", "/a/{x} x=b"}, // paths are matched as received
	{"GET", "/a/x%2Fy", "/a/{x} x=x/y"},
	{"GET", "/a/%2e%2e", "/a/{x} x=.."},
	{"POST", "/a/b", "/a/{x} x=b"},    // the literal has no route for it
	{"GET", "/a/b/c", "/a/{x}/c x=b"}, // goes back from /a/b/d
	{"GET", "/a/b/d", "/a/b/d"},
	{"GET", "/f/", "/f/{path...} path="},
	{"GET", "/f/x/y", "/f/{path...} path=x/y"},
	{"GET", "/f/x/y/z", "/f/x/{y}/z y=y"},
	{"GET", "/f/x/y/zz", "/f/{path...} path=x/y/zz"},
	{"GET", "/f/x//z", "/f/{path...} path=x//z"},
	{"GET", "/1/2/3/4", "/{a}/{b}/{c}/{d} a=1 b=2 c=3 d=4"},
	{"PATCH", "/any", "/any"},
	{"OPTIONS", "/any", "/any"},
	{"BREW", "/pot", "/pot"},
	{"GET", "/f", "404"},
	{"GET", "/1/2/3/4/5", "404"},
	{"GET", "//a", "404"},
	{"GET", "/A", "404"},
	{"OPTIONS", "/nowhere", "404"},
	{"POST", "/", "405 GET, HEAD, OPTIONS"},
	{"PUT", "/a/b", "405 DELETE, GET, HEAD, OPTIONS, POST"},
	{"GET", "/only/put", "405 OPTIONS, PUT"},
	{"GET", "/pot", "405 BREW, OPTIONS"},
	{"OPTIONS", "/a/b", "204 DELETE, GET, HEAD, OPTIONS, POST"},
	{"OPTIONS", "*", "204 "},
}

func TestRouter(t *testing.T) {
	router := redline.NewRouter()
	router.GET("/", echoRoute())
	router.GET("/a", echoRoute())
	router.GET("/a/", echoRoute())
	router.GET("/a/b", echoRoute())
	router.GET("/a/{x}", echoRoute("x"))
	router.POST("/a/{x}", echoRoute("x"))
	router.DELETE("/a/b", echoRoute())
	router.GET("/a/{x}/c", echoRoute("x"))
	router.GET("/a/b/d", echoRoute())
	router.GET("/f/{path...}", echoRoute("path"))
	router.GET("/f/x/{y}/z", echoRoute("y"))
	router.Handle("", "/any", echoRoute())
	router.Handle("BREW", "/pot", echoRoute())
	router.PUT("/only/put", echoRoute())
	router.GET("/{a}/{b}/{c}/{d}", echoRoute("a", "b", "c", "d"))
	r := serve(t, &redline.Server{Native: router.Serve})
	c := r.dial()
	for _, m := range routed {
		c.send("%s %s HTTP/1.1\r\nHost: h\r\n\r\n", m.method, m.path)
		resp := c.response()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%s %s: body: %v", m.method, m.path, err)
		}
		got := string(b)
		switch resp.StatusCode {
		case 404:
			got = "404"
		case 204, 405:
			got = fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Allow"))
		}
		if got != m.want {
			t.Errorf("%s %s: %q, want %q", m.method, m.path, got, m.want)
		}
	}
	c.send("HEAD /a/b HTTP/1.1\r\nHost: h\r\n\r\nGET /a/b HTTP/1.1\r\nHost: h\r\n\r\n")
	if head := c.responseTo("HEAD"); head.ContentLength != 4 {
		t.Errorf("HEAD: %v", head)
	}
	if status, body := c.answer(); status != 200 || body != "/a/b" {
		t.Errorf("behind HEAD: %d %q", status, body)
	}
}

func TestRouterNotFound(t *testing.T) {
	router := redline.NewRouter()
	router.NotFound = func(c *redline.Ctx) { c.Text(404, "nothing at "+c.Path()+c.Param("x")) }
	router.GET("/a/{x}/b", text("x"))
	c := serve(t, &redline.Server{Native: router.Serve}).dial()
	if status, body := c.get("/a/b/c"); status != 404 || body != "nothing at /a/b/c" {
		t.Errorf("%d %q", status, body)
	}
}

// TestRouterMethods asks one path by methods that routes share, one after the other
// on a connection: each is answered by its own route, whatever answered before.
func TestRouterMethods(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		router.Handle("PURGE", "/x", text("purge"))
		router.Handle("BREW", "/x", text("brew"))
		router.GET("/x", text("get"))
		router.Handle("", "/x", text("any"))
		router.GET("/y", text("get y"))
		router.Handle("BREW", "/y", text("brew y"))
		c := serve(t, &redline.Server{Transport: transport, Native: router.Serve}).dial()
		asked := []struct{ method, path, want string }{
			{"PURGE", "/x", "purge"},
			{"FOO", "/x", "any"},
			{"BAR", "/x", "any"},
			{"BREW", "/x", "brew"},
			{"GET", "/x", "get"},
			{"POST", "/x", "any"},
			{"HEAD", "/x", ""},
			{"PUT", "/x", "any"},
			{"GET", "/y", "get y"},
			{"BREW", "/y", "brew y"},
			{"HEAD", "/y", ""},
			{"POST", "/y", "405"},
			{"FOO", "/y", "405"},
		}
		for _, before := range asked {
			for _, m := range asked {
				for _, m := range []struct{ method, path, want string }{before, m} {
					c.send("%s %s HTTP/1.1\r\nHost: h\r\n\r\n", m.method, m.path)
					resp := c.responseTo(m.method)
					b, err := io.ReadAll(resp.Body)
					got := string(b)
					if resp.StatusCode != 200 {
						got = fmt.Sprint(resp.StatusCode)
					}
					if err != nil || got != m.want {
						t.Fatalf("%s %s: %q, %v, want %q", m.method, m.path, got, err, m.want)
					}
					if want := map[string]int64{"/x": 3, "/y": 5}[m.path]; m.method == "HEAD" && resp.ContentLength != want {
						t.Fatalf("HEAD %s: Content-Length %d, want %d", m.path, resp.ContentLength, want)
					}
				}
			}
		}
	})
}

// TestRouterConnect answers CONNECT, which names a host to tunnel to: no route can
// be meant.
func TestRouterConnect(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		router.NotFound = text("nothing here")
		router.Handle("", "/", text("root"))
		router.Handle("", "/{rest...}", text("rest"))
		router.Handle("CONNECT", "/rpc", text("rpc"))
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
		resp, body := fetch(t, r, "CONNECT", "example.org:443")
		if resp.StatusCode != 501 || resp.Header.Get("Allow") != "" || body != "Not Implemented\n" {
			t.Errorf("CONNECT: %v %q", resp, body)
		}
	})
	// A server of net/http takes CONNECT with a path.
	router := redline.NewRouter()
	router.Handle("CONNECT", "/rpc", text("rpc"))
	router.GET("/got", text("got"))
	for path, want := range map[string]string{"/rpc": "200 ", "/got": "405 GET, HEAD, OPTIONS", "/none": "404 "} {
		w := httptest.NewRecorder()
		redline.HandlerFunc(router.Serve).ServeHTTP(w, httptest.NewRequest("CONNECT", path, nil))
		if got := fmt.Sprint(w.Code, " ", w.Header().Get("Allow")); got != want {
			t.Errorf("CONNECT %s: %s, want %s", path, got, want)
		}
	}
}

// TestPathless asks for targets without a path in every way that a handler can look
// at it, and has what it was lent be changed.
func TestPathless(t *testing.T) {
	look := func(c *redline.Ctx) {
		raw := c.PathBytes()
		s := fmt.Sprintf("%s %s [%s] [%s]", c.Pattern(), c.Path(), c.Param("path"), c.ParamBytes("path"))
		if strings.HasPrefix(c.Target(), "http") {
			raw[0] = '!' // it is no part of the request
		}
		c.Text(200, s)
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for pattern, want := range map[string]string{"/{path...}": "/{path...} / [] []", "/": "/ / [] []"} {
			router := redline.NewRouter()
			router.GET(pattern, look)
			c := serve(t, &redline.Server{Transport: transport, Native: router.Serve}).dial()
			for _, target := range []string{"http://h", "http://h?q", "https://h:1", "/"} {
				for range 2 {
					c.want(target, want)
				}
			}
		}
	})
}

// TestBadRoutes panics at once, and says which route and why.
func TestBadRoutes(t *testing.T) {
	long := strings.Repeat("/{p}", 17)
	for i := range 17 {
		long = strings.Replace(long, "{p}", fmt.Sprintf("{p%d}", i), 1)
	}
	for _, m := range []struct{ method, pattern, why string }{
		{"GET", "", "slash"},
		{"GET", "a", "slash"},
		{"GET", "/{a", "whole segment"},
		{"GET", "/a}", "whole segment"},
		{"GET", "/x{a}", "whole segment"},
		{"GET", "/{a}x", "whole segment"},
		{"GET", "/{{a}}", "whole segment"},
		{"GET", "/{}", "empty"},
		{"GET", "/{...}", "empty"},
		{"GET", "/{a}/{a}", "twice"},
		{"GET", "/{a...}/b", "nothing can follow"},
		{"GET", long, "17 parameters"},
		{"G T", "/", "token"},
		{"GET", "/dup/{x}", "exists"},
	} {
		func() {
			defer func() {
				msg, _ := recover().(string)
				if !strings.Contains(msg, m.why) || !strings.Contains(msg, m.pattern) {
					t.Errorf("%s %s: panics with %q, want something of %q", m.method, m.pattern, msg, m.why)
				}
			}()
			router := redline.NewRouter()
			router.GET("/dup/{other}", text("x"))
			router.Handle(m.method, m.pattern, text("x"))
		}()
	}
}
