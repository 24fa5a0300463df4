package pushfasthttp_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"testing"

	"github.com/redline-go/redline/contrib/pushfasthttp"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
	"github.com/valyala/fasthttp"
)

func serve(t *testing.T, h fasthttp.RequestHandler) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fasthttp.Server{Handler: h, Logger: log.New(io.Discard, "", 0)}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Shutdown()
		<-done
	})
	return "http://" + l.Addr().String()
}

func TestHandler(t *testing.T) {
	pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
		return serve(t, pushfasthttp.Handler(h))
	})
}

// TestKeepAlive mounts the handler beside another one: a connection that has been used goes
// on to it, and what it refuses has no effect on others.
func TestKeepAlive(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{})
	events := pushfasthttp.Handler(hub.Handler(nil))
	at := serve(t, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/events" {
			events(ctx)
			return
		}
		ctx.SetBodyString("other")
	})
	for range 3 {
		for path, want := range map[string]int{"/": 200, "/events": 400, "/events?topic=a&format=x": 406} {
			resp, err := http.Get(at + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != want || err != nil || path == "/" && string(body) != "other" {
				t.Errorf("%s: %d %q %v", path, resp.StatusCode, body, err)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestCutAfterLeave cuts clients that leave at the same moment: the library has given their
// connections to others by then.
func TestCutAfterLeave(t *testing.T) {
	for range 50 {
		hub := pushtest.Hub(t, push.Options{})
		at := serve(t, pushfasthttp.Handler(hub.Handler(nil)))
		var all []*pushtest.Stream
		for range 4 {
			all = append(all, pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}}))
		}
		for _, s := range all {
			s.Close()
		}
		_ = hub.Close()
	}
}
