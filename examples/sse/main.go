// SSE is a chat room: everything that one client says is sent to all listeners, as
// Server-Sent Events. Its handlers use only net/http, and run on either server.
//
//	go run ./examples/sse
//	go run ./examples/sse -server net/http
//	curl -N http://127.0.0.1:8080/events
//	curl -d 'hello, everybody' http://127.0.0.1:8080/say
//
// A listener that reconnects with the Last-Event-ID field, as browsers do (EventSource),
// gets the events that it missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redline-go/redline"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	kind := flag.String("server", "redline", "server to run on: net/http or redline")
	flag.Parse()
	if err := run(*addr, *kind); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A server is the part that http.Server and redline.Server have in common, limited to what
// this service needs.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	RegisterOnShutdown(func())
}

// newServer creates one of the two servers: only the name of the type differs.
func newServer(kind string, h http.Handler) (server, error) {
	switch kind {
	case "net/http":
		return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, nil
	case "redline":
		return &redline.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}, nil
	}
	return nil, fmt.Errorf("-server %s: use net/http or redline", kind)
}

func run(addr, kind string) error {
	r := newRoom()
	srv, err := newServer(kind, r.routes())
	if err != nil {
		return err
	}
	srv.RegisterOnShutdown(r.close) // Shutdown waits for listeners, which never end by themselves
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("%s is listening on http://%s\n", kind, ln.Addr())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	down := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		down <- srv.Shutdown(ctx)
	})
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-down
}
