package compat_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestServerSentEvents has several clients at once see every event as it is sent,
// and sees them leave.
func TestServerSentEvents(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		next, gone := make(chan string), make(chan error, 10)
		m := http.NewServeMux()
		m.HandleFunc("GET /events", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
			for event := range next {
				fmt.Fprintf(w, "id: 1\ndata: %s\n\n", event)
				w.(http.Flusher).Flush()
			}
		})
		m.HandleFunc("GET /idle", func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if err := http.NewResponseController(w).Flush(); err != nil {
				gone <- err
				return
			}
			<-q.Context().Done()
			gone <- q.Context().Err()
		})
		s := c.start(t, m)
		playEvents(t, r, s, "/events", next)
		var open []*http.Response
		for range cap(gone) {
			resp, err := s.client.Get(s.url + "/idle")
			if err != nil {
				t.Fatal(err)
			}
			r.add("%s %v", resp.Status, resp.Header["Content-Type"])
			open = append(open, resp)
		}
		for _, resp := range open {
			resp.Body.Close()
			r.add("%v", within(t, gone, "the end of a handler whose client has left"))
		}
	})
}

// TestProfiler runs net/http/pprof. For a profile that takes longer than the
// server's WriteTimeout it looks the server up in the request's context.
func TestProfiler(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		m := http.NewServeMux()
		m.HandleFunc("/debug/pprof/", pprof.Index)
		m.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		m.HandleFunc("/debug/pprof/profile", pprof.Profile)
		m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		m.HandleFunc("/debug/pprof/trace", pprof.Trace)
		s := c.start(t, m)
		short := c.startLike(t, &http.Server{Handler: m, WriteTimeout: 1900 * time.Millisecond}) // a profile of two seconds needs more, and has these on top
		get := func(path string) []byte {
			s := s
			if strings.HasPrefix(path, "profile") {
				s = short
			}
			resp, err := s.client.Get(s.url + "/debug/pprof/" + path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			r.add("%s: %s, whole %v, empty %v", path, resp.Status, err == nil, len(body) == 0)
			r.header("  ", resp.Header)
			return body
		}
		r.add("index lists heap: %v", bytes.Contains(get(""), []byte("heap?debug=1")))
		for _, path := range []string{"heap", "goroutine", "allocs?gc=1", "profile?seconds=2"} {
			z, err := gzip.NewReader(bytes.NewReader(get(path)))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			_, err = io.Copy(io.Discard, z)
			r.add("%s is compressed, %v", path, err)
		}
		r.add("a trace: %v", bytes.HasPrefix(get("trace?seconds=0.01"), []byte("go 1.")))
		r.add("stacks: %v", bytes.Contains(get("goroutine?debug=2"), []byte("compat_test.TestProfiler")))
		get("cmdline")
		get("nothing")
		r.do(t, s, "POST", "/debug/pprof/symbol", strings.NewReader("0x0"))
	})
}

// TestTimeoutHandler answers in time, too late, and after a panic.
func TestTimeoutHandler(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		answered, late := make(chan struct{}), make(chan error, 1)
		m := http.NewServeMux()
		quick := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			body, err := io.ReadAll(q.Body)
			w.Header().Set("X-Quick", "yes")
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprintf(w, "%s, %v", brief(body), err)
		})
		m.Handle("/quick", http.TimeoutHandler(quick, patience, "never"))
		slow := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("X-Slow", "yes")
			io.WriteString(w, "not to be seen")
			<-q.Context().Done()
			<-answered
			_, err := w.Write([]byte("too late"))
			late <- err
		})
		m.Handle("/slow", http.TimeoutHandler(slow, 10*time.Millisecond, "<b>too slow</b>"))
		aborts := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		m.Handle("/aborts", http.TimeoutHandler(aborts, patience, "never"))
		s := c.start(t, m)
		r.do(t, s, "POST", "/quick", bytes.NewReader(pattern(100_000)))
		r.get(t, s, "/slow")
		close(answered)
		r.add("the handler is told: %v", within(t, late, "the late handler"))
		_, err := s.client.Get(s.url + "/aborts")
		r.add("aborted: %v", errors.Is(err, io.EOF))
		r.get(t, s, "/quick")
	})
}

// TestMaxBytesHandler bounds bodies, announced and chunked.
func TestMaxBytesHandler(t *testing.T) {
	const most = 100_000
	compare(t, func(t *testing.T, c carrier, r *report) {
		var mu sync.Mutex
		h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			n, err := io.Copy(io.Discard, q.Body)
			tooLong := new(http.MaxBytesError)
			mu.Lock()
			r.add("%d bytes, %v, too long %v", n, err, errors.As(err, &tooLong))
			mu.Unlock()
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			fmt.Fprint(w, n)
		})
		s := c.start(t, http.MaxBytesHandler(h, most))
		for _, n := range []int{0, 1, most, most + 1} {
			r.do(t, s, "POST", "/", bytes.NewReader(pattern(n)))
			r.do(t, s, "POST", "/", struct{ io.Reader }{bytes.NewReader(pattern(n))})
		}
		// The connection ends: what comes after the bound is not the next request.
		w := s.wire(t)
		w.send(t, fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", 10*most, pattern(most+1)))
		w.answer(t, r, "POST")
		w.end(t, r)
	})
}
