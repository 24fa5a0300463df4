package scripted

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/lab/internal/selfsigned"
)

// Verb is the hidden verb of the server process, see [Serve].
const Verb = "generators-serve"

// The modes of [Serve].
const (
	HTTP2  = "http2" // answers immediately, HTTP/2 over TLS
	Stalls = "stall" // follows a Script
)

// Body is the body of every response, here and of the responder that parses nothing.
const Body = "Hello, World!"

// Serve runs the server process: it listens on a free port of the loopback interface, until
// in ends. It prints its address, and then one line for each line of in:
//
//	count       how many requests it has received
//	late        how many it answered later than its script says
//	stall 2s    ok: from now on it does nothing for that time; once
func Serve(mode string, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	var count atomic.Int64
	var line *line
	var serve func() error
	var end func() error
	switch mode {
	case HTTP2:
		cert, err := selfsigned.New()
		if err != nil {
			return errors.Join(err, l.Close())
		}
		r := &responder{count: &count, conns: map[net.Conn]bool{}}
		secure := tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}})
		serve = func() error { return r.serve(secure) }
		end = func() error { r.end(); return l.Close() }
	case Stalls:
		// The thread that waits for the next response must not occupy the only processor.
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2))
		line = newLine()
		defer line.end()
		go line.run()
		server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: stalling(line, &count)}
		serve = func() error { return server.Serve(l) }
		end = server.Close
	default:
		return errors.Join(fmt.Errorf("serve %q: want %s or %s", mode, HTTP2, Stalls), l.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	err = errors.Join(obey(in, out, l.Addr().String(), &count, line), end())
	if serveErr := <-ended; !errors.Is(serveErr, http.ErrServerClosed) && !errors.Is(serveErr, net.ErrClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// stalling returns a handler that answers when the line says so.
func stalling(line *line, count *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		count.Add(1)
		line.wait()
		_, _ = io.WriteString(w, Body) // a client that closed the connection needs no response
	}
}

// obey executes the lines of in.
func obey(in io.Reader, out io.Writer, addr string, count *atomic.Int64, line *line) error {
	if _, err := fmt.Fprintln(out, addr); err != nil {
		return err
	}
	orders := bufio.NewScanner(in)
	for orders.Scan() {
		word, rest, _ := strings.Cut(orders.Text(), " ")
		said := ""
		switch {
		case word == "count":
			said = fmt.Sprint(count.Load())
		case word == "late" && line != nil:
			said = fmt.Sprint(line.tardy.Load())
		case word == "stall" && line != nil:
			d, err := time.ParseDuration(rest)
			if err != nil {
				return err
			}
			line.stall(d)
			said = "ok"
		default:
			return fmt.Errorf("unknown order %q", orders.Text())
		}
		if _, err := fmt.Fprintln(out, said); err != nil {
			return err
		}
	}
	return orders.Err()
}
