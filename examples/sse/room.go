package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	kept      = 100              // events kept for clients that reconnect
	longest   = 4 << 10          // bytes of one message
	heartbeat = 15 * time.Second // between comments that keep proxies from closing an idle connection
)

// A room keeps the latest messages for its listeners.
type room struct {
	mu     sync.Mutex
	said   []string // the last events
	first  int      // number of said[0]; the first event of all is 1
	news   chan struct{}
	closed bool
}

func newRoom() *room { return &room{first: 1, news: make(chan struct{})} }

func (r *room) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /events", r.listen)
	m.HandleFunc("POST /say", r.say)
	return m
}

// say adds an event.
func (r *room) say(w http.ResponseWriter, q *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, q.Body, longest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said = append(r.said, string(text)); len(r.said) > kept {
		r.said = r.said[1:]
		r.first++
	}
	r.tell()
	w.WriteHeader(http.StatusNoContent)
}

// tell wakes all listeners. The lock is held.
func (r *room) tell() {
	close(r.news)
	r.news = make(chan struct{})
}

// since returns the events after the one with the number, the number of the last of them,
// and a channel that is closed when there are more. There are no events at the end of the
// room.
func (r *room) since(last int) (events []string, upTo int, more <-chan struct{}, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	upTo = r.first + len(r.said) - 1
	if from := max(last+1, r.first); from <= upTo {
		events = append(events, r.said[from-r.first:]...) // a copy: the room changes later
	}
	return events, upTo, r.news, r.closed
}

// listen sends events as they arrive, each at once.
func (r *room) listen(w http.ResponseWriter, q *http.Request) {
	_, last, _, _ := r.since(0)
	if id := q.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.Atoi(id)
		if err != nil || n < 0 {
			http.Error(w, "Last-Event-ID is not a number", http.StatusBadRequest)
			return
		}
		last = min(n, last)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		events, upTo, more, closed := r.since(last)
		for i, text := range events {
			// Every line of a text becomes one data line.
			data := "data: " + strings.ReplaceAll(text, "\n", "\ndata: ")
			if _, err := fmt.Fprintf(w, "id: %d\n%s\n\n", upTo-len(events)+1+i, data); err != nil {
				return // the listener has left
			}
		}
		last = upTo
		if err := out.Flush(); err != nil {
			return
		}
		if closed {
			return
		}
		select {
		case <-more:
		case <-beat.C:
			if _, err := io.WriteString(w, ": still here\n\n"); err != nil {
				return
			}
		case <-q.Context().Done():
			return
		}
	}
}

// close ends all listening: the server is shutting down.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.tell()
}
