// Package engine runs the subjects on Redline: its native service, and the net/http
// services that other subjects run on http.Server.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/subject"
)

// Serve runs a server on ln until ctx is done. It is what [subject.ServeHTTP] is
// to net/http.
func Serve(ctx context.Context, ln net.Listener, server *redline.Server) error {
	// A subject logs only problems.
	server.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var err error
	if server.TLSConfig, err = subject.TLSConfig(); err != nil {
		return err
	}
	run := server.Serve
	if server.TLSConfig != nil {
		run = func(ln net.Listener) error { return server.ServeTLS(ln, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- run(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), subject.Grace)
	defer cancel()
	err = server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what is left open ends with the process
	}
	return err
}

// ServeHTTP runs a handler of net/http on ln until ctx is done, as
// [subject.ServeHTTP] does on http.Server, with the same settings.
func ServeHTTP(ctx context.Context, ln net.Listener, handler http.Handler) error {
	return Serve(ctx, ln, &redline.Server{
		Handler:     handler,
		BaseContext: func(net.Listener) context.Context { return ctx },
	})
}
