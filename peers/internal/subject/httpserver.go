package subject

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// ServeHTTP runs handler on a plain [http.Server], for the stacks that are routers on top
// of it. The contexts of its requests end with ctx, so that streams end. With --cert it
// serves HTTPS, with HTTP/2 and HTTP/1.1. No subject sets
// timeouts: each of them costs something on every request.
func ServeHTTP(ctx context.Context, ln net.Listener, handler http.Handler) error {
	secure, err := TLSConfig()
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, TLSConfig: secure,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	run := server.Serve
	if secure != nil {
		run = func(ln net.Listener) error { return server.ServeTLS(ln, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- run(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), Grace)
	defer cancel()
	err = server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}
