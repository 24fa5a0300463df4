// Chi is a service that stores notes, written with go-chi/chi as for net/http. It runs on
// either server.
//
//	go run ./examples/chi
//	go run ./examples/chi -server net/http
//	curl -d '{"text":"buy milk"}' http://127.0.0.1:8080/notes
//	curl http://127.0.0.1:8080/notes/1
//
// It is a separate module, so that the engine does not require chi.
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
}

// newServer creates one of the two servers: only the name of the type differs.
func newServer(kind string, h http.Handler) (server, error) {
	switch kind {
	case "net/http":
		return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}, nil
	case "redline":
		return &redline.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}, nil
	}
	return nil, fmt.Errorf("-server %s: use net/http or redline", kind)
}

func run(addr, kind string) error {
	srv, err := newServer(kind, newNotes().routes())
	if err != nil {
		return err
	}
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
