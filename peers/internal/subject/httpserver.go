package subject

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// ServeHTTP runs handler on a plain [http.Server], for the stacks that are
// routers on top of it. Its requests' contexts end with ctx, so that streams
// come to their end. No timeouts are set on any subject: each of them costs
// something on every request.
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
