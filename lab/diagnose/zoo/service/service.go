// Package service is the frame of the zoo's servers and backends: the listening socket, the
// signal that ends them, the port of the profiler. It keeps to the rules of package zoo.
package service

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// grace is how long requests in flight may take after SIGTERM.
const grace = 300 * time.Millisecond

// Main serves handler on $PORT until SIGTERM, and ends the process with a message if it cannot.
func Main(handler http.Handler) { MainServer(&http.Server{Handler: handler}) }

// MainAdmin is [Main], with admin on a port of its own, as many services have it: usually
// [http.DefaultServeMux] with net/http/pprof.
func MainAdmin(handler, admin http.Handler) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("admin on", ln.Addr())
	go func() { log.Fatal(http.Serve(ln, admin)) }()
	Main(handler)
}

// MainServer is [Main] with settings of the server.
func MainServer(server *http.Server) {
	ln, err := Listen()
	if err != nil {
		log.Fatal(err)
	}
	if err := Serve(server, ln); err != nil {
		log.Fatal(err)
	}
}

// Listen opens the listening socket of $PORT.
func Listen() (net.Listener, error) {
	port := os.Getenv("PORT")
	if port == "" {
		port = "0"
	}
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
}

// Announce prints the address on which the process answers. It has to be the last one that is
// printed.
func Announce(addr net.Addr) { fmt.Println("listening on", addr) }

// Terminated returns a context that ends with SIGTERM or SIGINT.
func Terminated() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
}

// Serve announces ln, and serves on it until SIGTERM. Requests in flight have 300 ms then.
func Serve(server *http.Server, ln net.Listener) error {
	ctx, stop := Terminated()
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	Announce(ln.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := server.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	} else if err != nil {
		return err
	}
	return nil
}

// Backend returns the address of the backend. The process ends if it was not given one.
func Backend() string {
	addr := os.Getenv("BACKEND")
	if addr == "" {
		log.Fatal("set BACKEND to the address of the backend")
	}
	return addr
}

// File returns the path of a file of this service, below $ZOO_DIR.
func File(name string) string { return filepath.Join(os.Getenv("ZOO_DIR"), name) }

// Health answers a check of health.
func Health(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
