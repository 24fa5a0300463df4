// Package stdlib is the service of the subjects that use only net/http: one set of handlers
// and its [http.ServeMux], for each server to run.
package stdlib

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/subject"
)

// Handler returns the service, all of it.
func Handler() http.Handler {
	mux := http.NewServeMux()
	asks := Asks{backend.Open()}
	push := new(Push)
	mux.HandleFunc("GET /plaintext", Plaintext)
	mux.HandleFunc("GET /json", JSON)
	mux.HandleFunc("POST /echo", limited(Echo))
	mux.HandleFunc("POST /upload", limited(Upload))
	mux.HandleFunc("GET /bytes", Sized)
	mux.HandleFunc("POST /order", limited(Order))
	mux.HandleFunc("GET /stream", Stream)
	mux.HandleFunc("GET /feed", Feed)
	mux.HandleFunc("GET /events", push.Events)
	mux.HandleFunc("POST /publish", push.Publish)
	mux.HandleFunc("GET /redis", asks.Redis)
	mux.HandleFunc("GET /wait", asks.Wait)
	mux.HandleFunc("GET /postgres", asks.Postgres)
	mux.HandleFunc("GET /fanout", asks.Fanout)
	mux.HandleFunc("GET /burn", Burn)
	return mux
}

// limited limits the body of the requests to h.
func limited(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, subject.BodyLimit)
		h(w, r)
	}
}

var hello = []byte(subject.Hello)

// Plaintext answers GET /plaintext.
func Plaintext(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write(hello)
}

// JSON answers GET /json.
func JSON(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(subject.Message{Message: subject.Hello})
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Echo answers POST /echo. The caller limits the body.
func Echo(w http.ResponseWriter, r *http.Request) {
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

// Upload answers POST /upload. The caller limits the body.
func Upload(w http.ResponseWriter, r *http.Request) {
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

// Stream answers GET /stream.
func Stream(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	spec, err := subject.ParseStream(query.Get("interval"), query.Get("size"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	periodic(w, r, subject.EventStream, spec.Interval, spec.NewEvent().Stamp)
}
