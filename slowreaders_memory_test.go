//go:build !race

// The race detector holds memory itself. It has slow readers of each way to write in TestUnreadAnswers,
// TestSlowReadersMove and make chaos.

package redline_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A largeAnswer is what a handler writes to a client that reads nothing.
type largeAnswer struct {
	handler  func(w http.ResponseWriter)
	native   func(c *redline.Ctx)
	requests int // that are sent at once; 0 is one
}

// largeAnswers are the ways to write more than a connection may hold.
func largeAnswers() map[string]largeAnswer {
	large := strings.Repeat("0123456789abcdef", 256<<10) // 4 MiB
	shared := []byte(large[:60<<10])
	piece := shared[:32<<10]
	return map[string]largeAnswer{
		"string of an http.Handler": {handler: func(w http.ResponseWriter) { _, _ = io.WriteString(w, large) }},
		"pieces of an http.Handler": {handler: func(w http.ResponseWriter) {
			for range 128 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}},
		"small pieces of an http.Handler": {handler: func(w http.ResponseWriter) {
			for range 4 << 10 {
				if _, err := w.Write(piece[:1000]); err != nil {
					return
				}
			}
		}},
		"string": {native: func(c *redline.Ctx) { _, _ = c.WriteString(large) }},
		"text":   {native: func(c *redline.Ctx) { c.Text(200, large) }},
		"bytes":  {native: func(c *redline.Ctx) { _ = c.Bytes(200, "text/plain", shared) }, requests: 100},
		"pieces": {native: func(c *redline.Ctx) {
			for range 4 << 10 {
				if _, err := c.Write(piece[:1000]); err != nil {
					return
				}
			}
		}},
		"stream": {native: func(c *redline.Ctx) {
			c.Stream(func(s *redline.Stream) {
				defer s.Close()
				for range 128 {
					if _, err := s.Write(piece); err != nil {
						return
					}
				}
			})
		}},
		"pipelined": {native: func(c *redline.Ctx) { c.Text(200, large[:10_000]) }, requests: 2000},
	}
}

// crowd has many clients ask, and read nothing, until the kernel takes no more for them.
func crowd(r *running, clients int, requests string) (all []*client) {
	for range clients {
		c := r.dial()
		noError(r.t, c.tcp().SetReadBuffer(4<<10))
		go io.WriteString(c.Conn, requests)
		all = append(all, c)
	}
	for _, c := range all {
		noError(r.t, second(c.r.Peek(1)))
	}
	time.Sleep(300 * time.Millisecond)
	return all
}

// TestSlowReadersMemory bounds what clients cost that ask for large answers and read
// nothing: whatever its handler writes, a connection holds its WriteBuffer and what
// was read at once. What the handler itself holds is not the connection's.
func TestSlowReadersMemory(t *testing.T) {
	const clients = 100
	answers := largeAnswers()
	for row, name := range slices.Sorted(maps.Keys(answers)) {
		k := answers[name]
		t.Run(name, func(t *testing.T) {
			onTurn(t, row, func(t *testing.T, transport redline.Transport) { // what is bounded is above the transport
				// Clients may be long in asking on a machine that is busy.
				s := &redline.Server{Transport: transport, ReadHeaderTimeout: -1, StallTimeout: -1, IdleTimeout: -1, Loops: 1}
				if k.native != nil {
					s.Native = k.native
				} else {
					s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { k.handler(w) })
				}
				r := serve(t, s)
				requests := strings.Repeat("GET / HTTP/1.1\r\nHost: h\r\n\r\n", max(k.requests, 1))
				before := resident(t)
				crowd(r, clients, requests)
				// 64 KiB each for WriteBuffer and what is read at once, and goroutines.
				bound := 200 << 10
				if r.secure {
					bound += 64 << 10 // crypto/tls of server and client: two buffers of a record each
				}
				each := (resident(t) - before) / clients
				t.Logf("%d KiB for each client", each>>10)
				if each > bound {
					t.Errorf("%d KiB are resident for each client, bound %d", each>>10, bound>>10)
				}
			})
		})
	}
}
