package nethttptest

import (
	"io"
	"net/http"
	"time"
)

// deadlineTrials2 are about deadlines of streams. Their handlers wait for something else than the client.
var deadlineTrials2 = []trial{
	writeTimeout2(play2("deadline: WriteTimeout passes before the answer", writesWhenGone, raw(get2()), hear(1))),
	writeTimeout2(play2("deadline: WriteTimeout passes within the answer", func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "hello")
		flush(w)
		writesWhenGone(o, w, r)
	}, raw(get2()), hear(1))),
	writeTimeout2(play2("deadline: WriteTimeout taken back", func(o *observer, w http.ResponseWriter, _ *http.Request) {
		o.err("set", http.NewResponseController(w).SetWriteDeadline(time.Time{}))
		o.outlast()
		put(o, w, "late")
	}, raw(get2()), hear(1))),
	writeTimeout2(play2("deadline: WriteTimeout of one of two streams", func(o *observer, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quick" {
			put(o, w, "quick")
			return
		}
		writesWhenGone(o, w, r)
	}, raw(get2()), hear(1), raw(asks(3, "GET", "/quick")), hear(2))),
	play2("deadline: of the handler, passes while it waits", func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("set", http.NewResponseController(w).SetWriteDeadline(time.Now().Add(o.short())))
		writesWhenGone(o, w, r)
	}, raw(get2()), hear(1)),
	play2("deadline: of the handler, has passed", func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "hello")
		o.err("set", http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second)))
		writesWhenGone(o, w, r)
	}, raw(get2()), hear(1)),
	play2("deadline: of the handler, has passed, moved on", func(o *observer, w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		o.err("set", c.SetWriteDeadline(time.Now().Add(-time.Second)))
		o.err("set", c.SetWriteDeadline(time.Now().Add(time.Hour)))
		writesWhenGone(o, w, r)
	}, raw(get2()), hear(1)),
	play2("deadline: for reading has passed", func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("set", http.NewResponseController(w).SetReadDeadline(time.Now().Add(-time.Second)))
		o.read(r.Body)
		put(o, w, "answer")
	}, raw(opens(1, "/")), hear(1)),
	play2("deadline: for reading passes while the handler waits", func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("set", http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.short())))
		o.open("called")
		o.outlast()
		o.read(r.Body)
		put(o, w, "answer")
	}, raw(opens(1, "/")+data(1, "hello")), hear(1)),
}

// writesWhenGone writes when the server has given the stream up.
func writesWhenGone(o *observer, w http.ResponseWriter, r *http.Request) {
	o.await(r.Context().Done(), "the deadline")
	o.err("context", r.Context().Err())
	_, err := io.WriteString(w, large)
	o.err("write", err)
	o.err("flush", http.NewResponseController(w).Flush())
}

// writeTimeout2 is a trial whose WriteTimeout is to pass.
func writeTimeout2(tr trial) trial {
	tr.fields = func(o *observer, s *http.Server) { s.WriteTimeout = o.short() }
	return tr
}
