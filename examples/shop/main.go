// Shop is a server for trying out redline load: it offers everything that the commands of
// docs/load.md and the scenarios of docs/scenario.md request. It uses only net/http, like a
// typical service.
//
//	go run ./examples/shop
//	redline load http://127.0.0.1:8080/
//
// It serves HTTP/1.1 and HTTP/2, both without TLS and over TLS with a self-signed
// certificate for shop.example.org, which is available at /ca. An interrupt ends it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // at /debug/pprof
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on, in clear")
	secure := flag.String("tls", "127.0.0.1:8443", "address to listen on with TLS")
	flag.Parse()
	if err := run(*addr, *secure); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr, secure string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, certificate, err := selfSigned("shop.example.org")
	if err != nil {
		return err
	}
	plain, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	over, err := net.Listen("tcp", secure)
	if err != nil {
		return errors.Join(err, plain.Close())
	}
	srv := &http.Server{
		Handler: numbered(handler(certificate)), TLSConfig: config, Protocols: new(http.Protocols), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, // an interrupt ends the streams
		ErrorLog:    log.New(io.Discard, "", 0),                        // clients that do not trust the certificate
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	fmt.Printf("listening on http://%s\nand on https://%s\n", plain.Addr(), over.Addr())

	ended := make(chan error, 2)
	go func() { ended <- srv.Serve(plain) }()
	go func() { ended <- srv.ServeTLS(over, "", "") }()
	var failed error
	select {
	case failed = <-ended:
		ended <- nil
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = errors.Join(failed, srv.Shutdown(ctx))
	for range 2 {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// numbered gives each answer a number.
func numbered(h http.Handler) http.Handler {
	var last atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", strconv.FormatUint(last.Add(1), 10))
		h.ServeHTTP(w, r)
	})
}

// handler is the shop.
func handler(certificate []byte) http.Handler {
	var carts, orders atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "welcome") })
	mux.HandleFunc("GET /health", answer(200, `{"state": "ok"}`))
	mux.HandleFunc("GET /items", answer(200, `{"items": [{"id": 1}, {"id": 2}]}`))
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			http.Error(w, "an item's ID is a number", http.StatusNotFound)
			return
		}
		answer(200, fmt.Sprintf(`{"id": %d}`, id))(w, r)
	})
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		answer(200, fmt.Sprintf(`{"orders": %d}`, orders.Load()))(w, r)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var order struct{ Item any }
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil || order.Item == nil {
			http.Error(w, "an order is JSON with an item", http.StatusBadRequest)
			return
		}
		answer(201, fmt.Sprintf(`{"order": %d}`, orders.Add(1)))(w, r)
	})
	mux.HandleFunc("POST /login", answer(200, `{"access_token": "let-me-in"}`))
	mux.HandleFunc("PUT /cart", users(answer(200, `{"state": "saved"}`)))
	mux.HandleFunc("POST /carts", users(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Cart-Id", strconv.FormatInt(carts.Add(1), 10))
		answer(201, `{"state": "open"}`)(w, r)
	}))
	mux.HandleFunc("PUT /carts/{cart}/items/{item}", users(answer(200, `{"state": "open"}`)))
	mux.HandleFunc("POST /carts/{cart}/payment", users(answer(201, `{"state": "paid"}`)))
	mux.HandleFunc("/files", answer(201, `{"state": "stored"}`))
	mux.HandleFunc("/files/", answer(201, `{"state": "stored"}`))
	streams(mux)
	mux.HandleFunc("GET /ca", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(certificate) })
	mux.Handle("/debug/", http.DefaultServeMux)
	mux.Handle("/v2/", http.StripPrefix("/v2", mux))
	return mux
}

// answer reads a request to its end and answers with JSON.
func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, "the body ended early", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n") // a client that has left does not want it
	}
}

// users admits clients that have a token.
func users(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || token == "" {
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		h(w, r)
	}
}
