// Command chi is the subject on go-chi/chi: its router, on http.Server.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("chi", "github.com/go-chi/chi/v5", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	r := chi.NewRouter()
	r.Get("/plaintext", plaintext)
	r.Get("/json", encode)
	r.Get("/stream", stream)
	r.Group(func(r chi.Router) {
		r.Use(middleware.RequestSize(subject.BodyLimit))
		r.Post("/echo", echo)
		r.Post("/upload", upload)
	})
	return subject.ServeHTTP(ctx, ln, r)
}

var hello = []byte(subject.Hello)

func plaintext(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write(hello)
}

func encode(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(subject.Message{Message: subject.Hello})
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func echo(w http.ResponseWriter, r *http.Request) {
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(r.Body); err != nil {
		bodyError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.Write(body.Bytes())
}

func upload(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		bodyError(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, strconv.FormatInt(n, 10))
}

func bodyError(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	http.Error(w, err.Error(), http.StatusBadRequest)
}

func stream(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	spec, err := subject.ParseStream(query.Get("interval"), query.Get("size"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	event := spec.NewEvent()
	ticker := time.NewTicker(spec.Interval)
	defer ticker.Stop()
	for {
		if _, err := w.Write(event.Stamp(time.Now())); err != nil {
			return
		}
		if err := flusher.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
