package nethttptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

type contextKey string

// contextTrials are about contexts, deadlines of one response and full duplex.
var contextTrials = []trial{
	{name: "context: lives while the handler does", send: get("/"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		_, deadline := ctx.Deadline()
		o.note("done %v, deadline %v, %s, cause %s", ctx.Done() != nil, deadline, describe(ctx.Err()), describe(context.Cause(ctx)))
	}},
	{name: "context: ends with the handler", handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.begin()
		go func() {
			defer o.end()
			defer o.open("seen")
			o.await(r.Context().Done(), "the end of the handler")
			o.err("context", r.Context().Err())
		}()
	}, play: []step{say(get("/")), hear(1), pass("seen")}},
	{name: "context: AfterFunc and children", handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		child, cancel := context.WithTimeout(context.WithValue(r.Context(), contextKey("a"), "b"), time.Hour)
		o.begin()
		context.AfterFunc(child, func() {
			defer o.end()
			defer cancel()
			o.note("%v, %s", child.Value(contextKey("a")), describe(child.Err()))
			o.open("seen")
		})
	}, play: []step{say(get("/")), hear(1), pass("seen")}},
	{name: "context: ends when the client leaves", handle: untilGone, play: []step{say(get("/")), pass("called"), leave()}},
	{name: "context: ends when the client cuts", differs: &states, handle: untilGone, play: []step{say(get("/")), pass("called"), reset()}},
	{name: "context: ends when the client closes its half", handle: untilGone, play: []step{say(get("/")), pass("called"), half()}},
	{name: "context: ends when the client leaves, content is read", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.read(r.Body)
		untilGone(o, w, r)
	}, play: []step{say(post("/", "hello")), pass("called"), leave()}},
	{name: "context: ends when the client leaves a stream", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "begin")
		flush(w)
		untilGone(o, w, r)
	}, play: []step{say(get("/")), hearText("begin"), leave()}},
	{name: "context: ends with the server", handle: untilGone, play: []step{say(get("/")), pass("called"), do(func(r *run) {
		err := r.server.Close()
		r.pass("seen")
		r.err("Close", err)
	}), end()}},
	{name: "context: next request has its own", handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.err(r.URL.Path, r.Context().Err())
	}, play: []step{say(get("/a")), hear(1), say(get("/b")), hear(2)}},
	{name: "context: CloseNotify", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		gone := w.(interface{ CloseNotify() <-chan bool }).CloseNotify()
		o.open("called")
		select {
		case <-gone:
			o.note("told")
		case <-time.After(patience):
			o.note("not told")
		}
	}, play: []step{say(get("/")), pass("called"), leave()}},
	{name: "context: writes when the client has left", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		untilGone(o, w, r)
		var err error
		for i := 0; i < 1000 && err == nil; i++ {
			_, err = io.WriteString(w, large[:64<<10])
		}
		o.note("an error %v", err != nil)
	}, play: []step{say(get("/")), pass("called"), reset()}},

	{name: "context values: server and address", send: get("/"), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		s, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
		o.note("server %v", ok && s != nil)
		a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		o.note("address %v", ok)
		if ok {
			o.note("%s %s, %T", a.Network(), a, a)
		}
		o.note("other %v", r.Context().Value(contextKey("x")))
	}},
	{name: "context values: BaseContext and ConnContext", fields: func(o *observer, s *http.Server) {
		s.BaseContext = func(l net.Listener) context.Context {
			o.note("BaseContext of %s", l.Addr())
			return context.WithValue(context.Background(), contextKey("base"), "b")
		}
		s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			_, server := ctx.Value(http.ServerContextKey).(*http.Server)
			o.note("ConnContext of %s at %s, base %v, server %v", c.RemoteAddr(), c.LocalAddr(), ctx.Value(contextKey("base")), server)
			return context.WithValue(ctx, contextKey("conn"), c.RemoteAddr().String())
		}
	}, handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.note("%s: %v, %v", r.URL.Path, r.Context().Value(contextKey("base")), r.Context().Value(contextKey("conn")))
	}, play: []step{say(get("/a")), hear(1), say(get("/b")), hear(2), conn(2), say(get("/c")), hear(1)}},
	{name: "context values: BaseContext is cancelled", fields: func(o *observer, s *http.Server) {
		ctx, cancel := context.WithCancelCause(context.Background())
		s.BaseContext = func(net.Listener) context.Context { return ctx }
		o.gate("cancel")
		o.begin()
		go func() {
			defer o.end()
			o.pass("called")
			cancel(errors.New("why"))
		}()
	}, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		untilGone(o, w, r)
		o.err("cause", context.Cause(r.Context()))
		put(o, w, "answered all the same")
	}, send: get("/")},

	{name: "controller: flush", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "x")
		o.err("flush", http.NewResponseController(w).Flush())
		put(o, w, "y")
	}},
	{name: "controller: read deadline passed", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("set", http.NewResponseController(w).SetReadDeadline(time.Now().Add(-time.Second)))
		_, err := io.ReadAll(r.Body)
		o.err("read", err)
		put(o, w, "late")
	}, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"), hear(1)}},
	{name: "controller: read deadline passes", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("set", http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.short())))
		b, err := io.ReadAll(r.Body)
		o.note("%q, %s", b, describe(err))
		put(o, w, "late")
	}, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"), hear(1)}},
	{name: "controller: read deadline passed, moved on", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		o.err("set", c.SetReadDeadline(time.Now().Add(-time.Second)))
		_, err := io.ReadAll(r.Body)
		o.err("read", err)
		o.err("set", c.SetReadDeadline(time.Time{}))
		o.open("called")
		o.read(r.Body)
	}, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5")), pass("called"), say("hello"), hear(1)}},
	{name: "controller: read deadline taken back", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		o.err("set", c.SetReadDeadline(time.Now().Add(time.Hour)))
		o.err("set", c.SetReadDeadline(time.Time{}))
		o.open("called")
		o.read(r.Body)
	}, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"), pass("called"), say("llo"), hear(1)}},
	{name: "controller: write deadline passed", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		o.err("set", c.SetWriteDeadline(time.Now().Add(-time.Second)))
		put(o, w, "x")
		o.err("flush", c.Flush())
	}, play: []step{say(get("/")), end()}},
	{name: "controller: write deadline passed, moved on", send: get("/"), handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		o.err("set", c.SetWriteDeadline(time.Now().Add(time.Hour)))
		put(o, w, "x")
		o.err("flush", c.Flush())
		o.err("set", c.SetWriteDeadline(time.Time{}))
		put(o, w, "y")
	}},
	{name: "controller: write deadline passes while the client takes nothing", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		o.err("set", c.SetWriteDeadline(time.Now().Add(o.short())))
		var err error
		for i := 0; i < 1000 && err == nil; i++ {
			_, err = io.WriteString(w, large)
		}
		o.note("a timeout or gone %v", err != nil)
		o.open("failed")
	}, play: []step{do(deaf), pass("failed"), leave()}},

	{name: "controller: nothing follows what could not be sent", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		put(o, w, "one,")
		o.err("flush", c.Flush())
		o.pass("heard")
		o.err("set", c.SetWriteDeadline(time.Now().Add(-time.Second)))
		_, _ = io.WriteString(w, "two,") // net/http keeps it
		o.err("flush", c.Flush())
		o.err("set", c.SetWriteDeadline(time.Now().Add(time.Hour)))
		_, _ = io.WriteString(w, "three")
		o.note("flush again fails %v", c.Flush() != nil)
		for what, write := range map[string]func() error{
			"Write":       func() error { _, err := w.Write([]byte("four")); return err },
			"WriteString": func() error { _, err := io.WriteString(w, "five"); return err },
			"ReadFrom":    func() error { _, err := io.Copy(w, strings.NewReader("six")); return err },
			"Flush":       c.Flush,
		} {
			if write() == nil {
				o.note("%s does not fail", what)
			}
		}
	}, play: []step{say(get("/")), hearText("one,"), open("heard"), end()}},
	{name: "leaving: who looks at Write alone", handle: untilWriteFails(func(w http.ResponseWriter) error {
		_, err := io.WriteString(w, "data: x\n\n")
		return err
	}), play: []step{do(unheard), leave()}},
	{name: "leaving: who looks at ReadFrom alone", handle: untilWriteFails(func(w http.ResponseWriter) error {
		_, err := io.Copy(w, strings.NewReader("data: x\n\n"))
		return err
	}), play: []step{do(unheard), leave()}},

	{name: "duplex: enabled", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("enable", http.NewResponseController(w).EnableFullDuplex())
		echoAsItComes(o, w, r)
	}, play: []step{
		say(postCoded("/", encode("ab"))), hearText("ab"), say(encode("cd")), hearText("abcd"), say("0\r\n\r\n"), hear(1),
	}},
	{name: "duplex: not enabled", differs: &readable, handle: echoAsItComes, send: postChunked("/", "ab", "cd")},
	{name: "duplex: content is read after WriteHeader and Flush", differs: &readable, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		flush(w)
		o.read(r.Body)
	}, send: post("/", "hello")},
	{name: "duplex: content is read behind a small write", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "x")
		o.read(r.Body)
	}, send: post("/", "hello")},
}

// untilWriteFails writes and flushes, and looks at no error but that of the former.
func untilWriteFails(write func(w http.ResponseWriter) error) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, _ *http.Request) {
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if write(w) != nil {
				o.note("fails")
				return
			}
			flush(w)
		}
		o.note("goes on")
	}
}

// unheard asks on a connection of its own, which it cuts when the answer has begun: how
// much of it came is chance.
func unheard(r *run) {
	c, err := r.dial()
	if err != nil {
		r.failed = fmt.Sprintf("connect: %v", err)
		return
	}
	defer c.Close()
	put(r.observer, c, get("/"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		r.err("read", err)
	}
	abort(c)
}

// untilGone waits for the context's end.
func untilGone(o *observer, _ http.ResponseWriter, r *http.Request) {
	o.open("called")
	o.await(r.Context().Done(), "the context's end")
	o.err("context", r.Context().Err())
	o.open("seen")
}

// echoAsItComes answers each two bytes at once.
func echoAsItComes(o *observer, w http.ResponseWriter, r *http.Request) {
	p := make([]byte, 2)
	for {
		n, err := io.ReadFull(r.Body, p)
		if err != nil {
			o.note("%q, %s", p[:n], describe(err))
			return
		}
		put(o, w, string(p))
		flush(w)
	}
}

// deaf asks on a connection of its own that reads nothing.
func deaf(r *run) {
	c, err := r.dial()
	if err != nil {
		r.failed = fmt.Sprintf("connect: %v", err)
		return
	}
	defer c.Close()
	put(r.observer, c, get("/"))
	r.pass("failed")
}
