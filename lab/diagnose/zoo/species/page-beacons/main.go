// Command page-beacons takes how long visitors looked at which pages, and keeps totals.
package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	pages    = 64
	maxBody  = 16 << 10
	maxMilli = 10 * 60 * 1000 // a longer visit is a forgotten tab
)

// visit is one page that was looked at.
type visit struct{ page, millis int }

// total is what is known of one page.
type total struct{ visits, millis int64 }

var (
	errBeacon = errors.New("write PAGE:MILLISECONDS, separated by spaces")
	bodies    = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, maxBody)) }}
)

// parse reads one beacon.
func parse(text []byte) (visit, error) {
	page, millis, ok := bytes.Cut(text, []byte{':'})
	v := visit{number(page), number(millis)}
	if !ok || v.page < 0 || v.page >= pages || v.millis < 0 {
		return v, errBeacon
	}
	return v, nil
}

// number reads a decimal number; -1: it is none.
func number(text []byte) int {
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' || n > 1e8 {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func (t *Totals) collect(w http.ResponseWriter, r *http.Request) {
	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if _, err := io.Copy(body, http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for word := range bytes.FieldsSeq(body.Bytes()) {
		v, err := parse(word)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		t.Add(v)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (t *Totals) show(w http.ResponseWriter, r *http.Request) {
	page, err := strconv.Atoi(chi.URLParam(r, "page"))
	if err != nil || page < 0 || page >= pages {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	sum := t.Of(page)
	b := strconv.AppendInt([]byte(`{"visits":`), sum.visits, 10)
	b = strconv.AppendInt(append(b, `,"millis":`...), sum.millis, 10)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '}'))
}

func main() {
	t := newTotals()
	r := chi.NewRouter()
	r.Get("/healthz", service.Health)
	r.Post("/beacons", t.collect)
	r.Get("/totals/{page}", t.show)
	r.HandleFunc("/debug/pprof/*", pprof.Index)
	r.HandleFunc("/debug/pprof/profile", pprof.Profile)
	r.HandleFunc("/debug/pprof/trace", pprof.Trace)
	service.Main(r)
}
