package nethttptest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAfterwards uses everything that belongs to a request when its handler has
// returned and the next one is answered. net/http forbids most of that, and breaks:
// it is no reference. Redline returns errors, and the next answer is not touched.
func TestAfterwards(t *testing.T) {
	for _, e := range candidates() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			tr := &trial{handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/next" {
					o.open("next")
					o.pass("used")
					put(o, w, "next")
					return
				}
				put(o, w, "first")
				o.begin()
				go func() {
					defer o.end()
					o.pass("next")
					useAfterwards(o, w, r)
					o.open("used")
				}()
			}, play: []step{say(post("/", "hello")), hear(1), say(get("/next")), hear(2)}}
			got := tr.start(e, t.TempDir())
			want := []string{
				"answer 1: HTTP/1.1 200 OK", "answer 1: Content-Length: 5", "answer 1: Content-Type: text/plain; charset=utf-8", "answer 1: Date: now", `answer 1: body "first"`,
				"answer 2: HTTP/1.1 200 OK", "answer 2: Content-Length: 4", "answer 2: Content-Type: text/plain; charset=utf-8", "answer 2: Date: now", `answer 2: body "next"`,
				"fate: open", "state: new active idle active idle active closed",
				"seen: write fails true", "seen: write string fails true", "seen: copy fails true", "seen: flush fails true", "seen: hijack panics: net/http: Hijack called after ServeHTTP finished",
				"seen: read: http.ErrBodyReadAfterClose", "seen: header can be read true", "seen: request can be read true", "seen: context: context.Canceled",
				"seen: deadlines fail true", "log: http: superfluous response.WriteHeader call from CALLER",
			}
			lines := strings.Split(caller.ReplaceAllString(strings.Join(got.dump(), "\n"), "CALLER"), "\n")
			if d := diff(want, lines); d != "" {
				t.Errorf("- what is right, + what is:\n%s", indent(d))
			}
		})
	}
}

func useAfterwards(o *observer, w http.ResponseWriter, r *http.Request) {
	_, err := w.Write([]byte("late"))
	o.note("write fails %v", err != nil)
	_, err = io.WriteString(w, "late")
	o.note("write string fails %v", err != nil)
	_, err = io.Copy(w, o.file("late"))
	o.note("copy fails %v", err != nil)
	o.note("flush fails %v", w.(interface{ FlushError() error }).FlushError() != nil)
	panics(o, "hijack", func() { _, _, _ = w.(http.Hijacker).Hijack() })
	_, err = r.Body.Read(make([]byte, 10))
	o.err("read", err)
	w.Header().Set("X-Late", "1")
	w.WriteHeader(500)
	o.note("header can be read %v", w.Header().Get("X-Late") == "1")
	o.note("request can be read %v", r.Host == "h" && r.Header.Get("Content-Length") == "5")
	<-r.Context().Done()
	o.err("context", r.Context().Err())
	c := http.NewResponseController(w)
	soon := time.Now().Add(time.Millisecond)
	o.note("deadlines fail %v", c.SetReadDeadline(soon) != nil && c.SetWriteDeadline(soon) != nil)
}
