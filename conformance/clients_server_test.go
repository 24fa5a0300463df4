package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// patience bounds what a handler or a client waits for; nothing is expected to take as long.
const patience = 30 * time.Second

// A scenario is the server's side of what the clients do. Its streams go on only when the client
// has read what was sent: a client that holds a response back until its end is found out.
type scenario struct {
	http.ServeMux
	mu    sync.Mutex
	gates map[string]chan struct{}
	peers map[string]map[string]bool // addresses of clients by what they asked for
}

func newScenario() *scenario {
	s := &scenario{gates: map[string]chan struct{}{}, peers: map[string]map[string]bool{}}
	s.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	s.HandleFunc("/small/{n}", func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		_, _ = io.WriteString(w, r.PathValue("n"))
	})
	s.HandleFunc("/peers", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, s.count(r.URL.Query().Get("id")))
	})
	s.HandleFunc("/next", func(_ http.ResponseWriter, r *http.Request) { s.next(r.URL.Query().Get("id")) })
	s.HandleFunc("POST /echo", echo)
	s.HandleFunc("/duplex", duplex)
	s.HandleFunc("/trailers", trailers)
	s.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) { s.parts(w, r, "part %d\n") })
	s.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		s.parts(w, r, "data: part %d\n\n")
	})
	s.HandleFunc("/page", page)
	s.HandleFunc("/ws", webSocket)
	return s
}

// gate returns the gate of a stream.
func (s *scenario) gate(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[id] == nil {
		s.gates[id] = make(chan struct{}, 8)
	}
	return s.gates[id]
}

// next lets a stream send its next part.
func (s *scenario) next(id string) { s.gate(id) <- struct{}{} }

// note remembers the address of the client.
func (s *scenario) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.URL.Query().Get("id")
	if s.peers[id] == nil {
		s.peers[id] = map[string]bool{}
	}
	s.peers[id][r.RemoteAddr] = true
}

// count returns on how many connections the small requests with an id came.
func (s *scenario) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers[id])
}

// numParts is the number of parts of a stream.
const numParts = 3

// parts sends a stream, each part when the client has asked for it with /next.
func (s *scenario) parts(w http.ResponseWriter, r *http.Request, format string) {
	gate, end := s.gate(r.URL.Query().Get("id")), time.After(patience)
	for i := range numParts {
		_, _ = fmt.Fprintf(w, format, i)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		case <-end:
			panic(http.ErrAbortHandler)
		}
	}
}

// echo answers with the body, which it reads whole before.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// duplex answers each line of the body with the line, before it reads the next.
func duplex(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex()
	_ = rc.Flush()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		_, _ = fmt.Fprintf(w, "%s\n", lines.Bytes())
		_ = rc.Flush()
	}
}

// trailers answers with the length of the body and the client's trailer, both as trailers.
func trailers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "X-Length, X-Back")
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, "trailers follow\n")
	w.Header().Set("X-Length", strconv.FormatInt(n, 10))
	w.Header().Set("X-Back", r.Trailer.Get("X-Client"))
}

// numResources is the number of resources of the page.
const numResources = 200

// page is a page with many resources.
func page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<!doctype html><title>page</title><link rel=icon href='data:,'>\n")
	for n := range numResources {
		_, _ = fmt.Fprintf(w, "<script src='/small/%d?id=%s'></script>\n", n, r.URL.Query().Get("id"))
	}
}
