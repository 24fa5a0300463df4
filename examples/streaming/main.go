// Streaming accepts uploads of any size, in little memory, and reports their progress to
// all listeners.
//
//	go run ./examples/streaming
//	curl -N http://127.0.0.1:8080/events
//	head -c 1G /dev/zero | curl -T - http://127.0.0.1:8080/upload/zeros
//
// The events are Server-Sent Events, which browsers understand (EventSource).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr string) error {
	var h hub
	router := redline.NewRouter()
	router.GET("/events", h.subscribe)
	router.PUT("/upload/{name}", h.upload)

	srv := &redline.Server{
		Native: router.Serve,
		Limits: redline.Limits{MaxBodyBytes: -1}, // a body is not stored: it may have any length
	}
	at, err := srv.Listen(addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", at)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	down := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		h.close() // Shutdown waits for streams, and these never end by themselves
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		down <- srv.Shutdown(ctx)
	})
	if err := srv.Run(); !errors.Is(err, redline.ErrServerClosed) {
		return err
	}
	return <-down
}

// A hub sends events to its subscribers.
type hub struct {
	mu      sync.Mutex
	streams map[*redline.Stream]struct{}
	closed  bool
}

// subscribe answers with events, from now on.
func (h *hub) subscribe(c *redline.Ctx) {
	if err := c.SetHeader("Content-Type", "text/event-stream"); err != nil {
		panic(err)
	}
	if err := c.SetHeader("Cache-Control", "no-store"); err != nil {
		panic(err)
	}
	c.Stream(h.join)
}

// join adds a subscriber.
func (h *hub) join(s *redline.Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		s.Close()
		return
	}
	if h.streams == nil {
		h.streams = map[*redline.Stream]struct{}{}
	}
	h.streams[s] = struct{}{}
	context.AfterFunc(s.Context(), func() { h.leave(s) })
}

// leave closes the stream of a subscriber that has left.
func (h *hub) leave(s *redline.Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	s.Close() // the client has left: there is nobody to report an error to
}

// publish sends an event to all who can accept it now: slow readers miss some.
func (h *hub) publish(format string, args ...any) {
	event := fmt.Appendf(nil, "data: "+format+"\n\n", args...)
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.streams {
		_, _ = s.TryWrite(event) // leave handles a client that has left
	}
}

// close ends all streams.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.streams {
		s.Close() // as in leave
	}
}

// progress is the number of uploaded bytes per event.
const progress = 16 << 20

// upload reads a body as it arrives.
func (h *hub) upload(c *redline.Ctx) {
	name, size := c.Param("name"), c.ContentLength()
	body, p := c.Body(), make([]byte, 64<<10)
	var n, next int64
	for {
		k, err := body.Read(p)
		n += int64(k)
		if n >= next {
			h.publish("%q: %d of %d bytes", name, n, size)
			next = n + progress
		}
		switch {
		case err == io.EOF:
			h.publish("%q is complete: %d bytes", name, n)
			c.Text(200, fmt.Sprintf("%d bytes\n", n))
			return
		case err != nil:
			h.publish("%q was broken off: %v", name, err)
			c.Error(400)
			return
		}
	}
}
