package compat_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// TestChi runs an application with chi's own middleware around its routes.
func TestChi(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		var access journal
		s := c.start(t, chiApp(r, &access))
		r.get(t, s, "/")
		r.get(t, s, "/ping")
		r.get(t, s, "/articles/42/comments/7%2F8?x=1", "X-Forwarded-For: 192.0.2.7")
		r.get(t, s, "/articles/42/comments/7/")
		r.get(t, s, "/articles/many", "Accept-Encoding: gzip")
		r.do(t, s, "PUT", "/articles/42", strings.NewReader("text"), "Content-Type: text/plain")
		r.do(t, s, "PUT", "/articles/42", strings.NewReader("{}"), "Content-Type: application/json")
		r.do(t, s, "PUT", "/articles/42", strings.NewReader(strings.Repeat(" ", 1001)), "Content-Type: application/json")
		r.do(t, s, "DELETE", "/articles/42", nil)
		r.do(t, s, "HEAD", "/articles/42", nil)
		r.do(t, s, "OPTIONS", "/articles/42", nil)
		r.get(t, s, "/nowhere")
		r.get(t, s, "/panic")
		r.get(t, s, "/slow")
		r.get(t, s, "/admin/")
		r.get(t, s, "/admin/", "Authorization: Basic cm9vdDpzZWNyZXQ=")
		r.get(t, s, "/files/a/b.txt")
		r.add("%s", &access)
	})
}

func chiApp(r *report, access io.Writer) http.Handler {
	m := chi.NewRouter()
	m.Use(middleware.RequestLogger(chiLog{access}), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			ww := middleware.NewWrapResponseWriter(w, q.ProtoMajor)
			next.ServeHTTP(ww, q)
			fmt.Fprintf(access, "%T %s %s %d %d %s\n", ww, q.Method, chi.RouteContext(q.Context()).RoutePattern(), ww.Status(), ww.BytesWritten(), q.Pattern)
		})
	})
	m.Use(middleware.ClientIPFromXFF("127.0.0.0/8"), middleware.RequestID, middleware.Heartbeat("/ping"), middleware.StripSlashes,
		middleware.GetHead, middleware.Recoverer, middleware.Compress(5), middleware.NoCache)
	m.Get("/", func(w http.ResponseWriter, q *http.Request) {
		io.WriteString(w, "<html>"+http.StatusText(200))
	})
	m.Route("/articles", func(m chi.Router) {
		m.Get("/many", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, "[%s0]", strings.Repeat("1234567890,", 3000))
		})
		m.With(middleware.AllowContentType("application/json"), middleware.RequestSize(1000)).Put("/{id:[0-9]+}", func(w http.ResponseWriter, q *http.Request) {
			body, err := io.ReadAll(q.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, "%s is %q", q.PathValue("id"), body)
		})
		m.Get("/{id}", func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, chi.URLParam(q, "id")) })
		m.Get("/{id}/comments/*", func(w http.ResponseWriter, q *http.Request) {
			r.add("address %s, url %s, uri %s, remote %v", middleware.GetClientIP(q.Context()), q.URL, q.RequestURI, strings.HasPrefix(q.RemoteAddr, "127.0.0.1:"))
			fmt.Fprintf(w, "%s of %s", chi.URLParam(q, "*"), chi.URLParam(q, "id"))
		})
	})
	m.Get("/panic", func(http.ResponseWriter, *http.Request) { panic("of the application") })
	m.With(middleware.Timeout(10*time.Millisecond)).Get("/slow", func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	admin := chi.NewRouter()
	admin.Use(middleware.BasicAuth("admin", map[string]string{"root": "secret"}), middleware.Throttle(10))
	admin.Get("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m.Mount("/admin", admin)
	m.Handle("/files/*", http.StripPrefix("/files", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, q.URL.Path) })))
	return m
}

// chiLog keeps what chi logs, without what differs each time.
type chiLog struct{ to io.Writer }

func (l chiLog) NewLogEntry(q *http.Request) middleware.LogEntry {
	fmt.Fprintf(l.to, "%s %s %s %s", q.Method, q.Host[:9], q.RequestURI, q.Proto)
	return l
}

func (l chiLog) Write(status, bytes int, _ http.Header, _ time.Duration, _ any) {
	fmt.Fprintf(l.to, " gets %d with %d bytes\n", status, bytes)
}

func (l chiLog) Panic(v any, _ []byte) { fmt.Fprintf(l.to, " panics %v", v) }

// TestChiStreams flushes and hijacks through the writers of chi's middleware.
func TestChiStreams(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		next := make(chan string)
		m := chi.NewRouter()
		m.Use(middleware.RequestLogger(&middleware.DefaultLogFormatter{Logger: log.New(io.Discard, "", 0), NoColor: true}), middleware.Compress(5, "text/event-stream"))
		m.Get("/events", func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for event := range next {
				fmt.Fprintln(w, event)
				w.(http.Flusher).Flush()
			}
		})
		m.Get("/hijack", hijackEcho)
		s := c.start(t, m)
		playEvents(t, r, s, "/events", next)
		playHijack(t, r, s, "/hijack", "early\n", "and again\n")
	})
}
