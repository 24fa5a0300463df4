package pushtest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redline-go/redline"
)

// A Serve serves a handler on a server until the end of the test, and returns its URL.
type Serve func(t testing.TB, h http.Handler) (url string)

// Servers are the servers that a handler can be mounted on as it is.
var Servers = map[string]Serve{"nethttp": serveNetHTTP, "redline": serveRedline}

func serveNetHTTP(t testing.TB, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func serveRedline(t testing.TB, h http.Handler) string {
	t.Helper()
	s := &redline.Server{Handler: h, Logger: slog.New(slog.DiscardHandler)}
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-done
	})
	return "http://" + addr.String()
}
