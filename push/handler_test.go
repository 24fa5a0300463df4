package push_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// TestNetHTTP runs the suite on net/http's own server.
func TestNetHTTP(t *testing.T) {
	pushtest.Handler(t, pushtest.Plain)
}

// TestNetHTTP2 runs the suite on net/http's own server, with HTTP/2.
func TestNetHTTP2(t *testing.T) {
	pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
		s := httptest.NewUnstartedServer(h)
		s.EnableHTTP2 = true
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	})
}

// TestRedlineHTTP2 runs the suite on the loops, with HTTP/2 over TLS.
func TestRedlineHTTP2(t *testing.T) {
	pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
		return serve(t, &redline.Server{Native: h.Serve, TLSConfig: certificate()})
	})
}

// certificate is the configuration of a server, whose clients do not verify it.
var certificate = sync.OnceValue(func() *tls.Config {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}
})

// TestStreams has many streams of one HTTP/2 connection, one of which is not read. There are
// no signs of life, which would wake a stream that was forgotten.
func TestStreams(t *testing.T) {
	const n = 50
	hub := pushtest.Hub(t, push.Options{QueueEvents: 1000, Heartbeat: -1})
	at := serve(t, &redline.Server{Native: hub.Handler(nil).Serve, TLSConfig: certificate()})
	over := pushtest.NewTransport()
	defer over.CloseIdleConnections()
	var all []*pushtest.Stream
	for range n {
		all = append(all, pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, Over: over}))
	}
	for i := range 100 {
		pushtest.Publish(t, hub, "t", fmt.Sprint(i))
	}
	for _, s := range all[1:] {
		for i := range 100 {
			s.Want(fmt.Sprint(i))
		}
		s.Close()
	}
	all[0].Want("0", "1")
	pushtest.Until(t, "the others have left", func() bool { return hub.Stats().Subscribers == 1 })
}

// serve runs a redline.Server until the end of the test.
func serve(t testing.TB, s *redline.Server) (url string) {
	t.Helper()
	return serveOn(t, s, "127.0.0.1:0")
}

// serveOn is serve for some other address.
func serveOn(t testing.TB, s *redline.Server, at string) (url string) {
	t.Helper()
	s.Logger = slog.New(slog.DiscardHandler)
	listen, scheme := s.Listen, "http://"
	if s.TLSConfig != nil {
		listen, scheme = func(addr string) (net.Addr, error) { return s.ListenTLS(addr, "", "") }, "https://"
	}
	addr, err := listen(at)
	if err != nil {
		t.Skipf("%s is not available here: %v", s.Transport, err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), pushtest.Patience)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-done
	})
	return scheme + addr.String()
}

// TestRedline runs the suite on the loops of each transport.
func TestRedline(t *testing.T) {
	for _, transport := range []redline.Transport{redline.TransportUring, redline.TransportEpoll, redline.TransportStd} {
		t.Run(string(transport), func(t *testing.T) {
			pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
				return serve(t, &redline.Server{Transport: transport, Native: h.Serve})
			})
		})
	}
}

// TestMounted runs the suite with the http.Handler on the loops.
func TestMounted(t *testing.T) {
	pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
		mux := http.NewServeMux()
		mux.Handle("/", h)
		return serve(t, &redline.Server{Handler: mux})
	})
}

// TestGuest runs the suite with the native handler under net/http.
func TestGuest(t *testing.T) {
	pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
		s := httptest.NewServer(redline.HandlerFunc(h.Serve))
		t.Cleanup(s.Close)
		return s.URL
	})
}
