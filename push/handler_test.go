package push_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// TestNetHTTP runs the suite on net/http's own server.
func TestNetHTTP(t *testing.T) {
	pushtest.Handler(t, pushtest.Plain)
}

// serve runs a redline.Server until the end of the test.
func serve(t testing.TB, s *redline.Server) (url string) {
	t.Helper()
	s.Logger = slog.New(slog.DiscardHandler)
	addr, err := s.Listen("127.0.0.1:0")
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
	return "http://" + addr.String()
}

// TestRedline runs the suite on the loops, native and mounted, on each transport.
func TestRedline(t *testing.T) {
	for _, transport := range []redline.Transport{redline.TransportUring, redline.TransportEpoll, redline.TransportStd} {
		t.Run(string(transport)+"/native", func(t *testing.T) {
			pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
				return serve(t, &redline.Server{Transport: transport, Native: h.Serve})
			})
		})
		t.Run(string(transport)+"/mounted", func(t *testing.T) {
			pushtest.Handler(t, func(t *testing.T, h *push.Handler) string {
				mux := http.NewServeMux()
				mux.Handle("/", h)
				return serve(t, &redline.Server{Transport: transport, Handler: mux})
			})
		})
	}
}
