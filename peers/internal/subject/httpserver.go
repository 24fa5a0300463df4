package subject

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// ServeHTTP runs handler on a plain [http.Server], for the stacks that are routers on top
// of it. The contexts of its requests end with ctx, so that streams end. No subject sets
// timeouts: each of them costs something on every request.
func ServeHTTP(ctx context.Context, ln net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:     handler,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}
