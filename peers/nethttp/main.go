// Command nethttp is the subject that stands on net/http alone: http.ServeMux on
// http.Server.
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

	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("nethttp", "net/http", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /plaintext", plaintext)
	mux.HandleFunc("GET /json", encode)
	mux.HandleFunc("POST /echo", echo)
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("GET /stream", stream)
	return subject.ServeHTTP(ctx, ln, mux)
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
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, subject.BodyLimit)); err != nil {
		bodyError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.Write(body.Bytes())
}

func upload(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, subject.BodyLimit))
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
