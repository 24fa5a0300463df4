package nethttptest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// stateTrials are about what a server tells of its connections, and what those who
// are told do with them.
var stateTrials = []trial{
	{name: "states: three pipelined", handle: path, play: []step{say(get("/a") + get("/b") + get("/c")), hear(3)}},
	{name: "states: pipelined behind content", handle: look, play: []step{say(post("/a", "hello") + postChunked("/b", "hello") + get("/c")), hear(3)}},
	{name: "states: pipelined behind a stream", handle: flushTwice, play: []step{say(get("/a") + get("/b")), hear(2)}},
	{name: "states: pipelined, the last closes", handle: path, play: []step{say(get("/a") + get("/b") + get("/c", closing)), end()}},
	{name: "states: told at Hijack", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		o.note("states %v", o.told(r.RemoteAddr))
	}, play: []step{say(get("/")), end()}},
	{name: "states: a hijacked connection does not hold up Shutdown", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		o.open("called")
		o.pass("down")
		put(o, c, "late")
	}, play: []step{say(get("/")), pass("called"), do(shutdown), pass("down"), end()}},
	{name: "states: Hijack of a connection that was told", fields: func(o *observer, s *http.Server) {
		s.ConnState = func(c net.Conn, state http.ConnState) {
			if state == http.StateHijacked {
				o.note("hijacked, %s", c.RemoteAddr())
			}
		}
	}, play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		o.note("before")
		c, _ := hijack(o, w)
		defer c.Close()
		o.note("behind")
	}},
	{name: "states: a hook that wants them in order", fields: func(o *observer, s *http.Server) { s.ConnState = inOrder(o) }, handle: path, play: []step{
		say(get("/a") + get("/b") + get("/c")), hear(3), say(get("/d")), hear(4), conn(2), say(get("/e") + get("/f", closing)), end(),
	}},

	{name: "close by hook: a handler that waits", differs: &states, fields: keepConn, handle: untilGone, play: []step{say(get("/")), pass("called"), do(closeKept), end()}},
	{name: "close by hook: a handler that has flushed", differs: &states, fields: keepConn, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "begun")
		flush(w)
		untilGone(o, w, r)
	}, play: []step{say(get("/")), pass("called"), hearText("begun"), do(closeKept), end()}},
	{name: "close by hook: content is waited for", fields: keepConn, handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		b := make([]byte, 2)
		_, err := io.ReadFull(r.Body, b)
		o.note("%q, %s", b, describe(err))
		o.open("called")
		_, err = io.Copy(io.Discard, r.Body)
		o.note("fails %v", err != nil)
	}, play: []step{say(halfPost), pass("called"), do(closeKept), end()}},
	{name: "close by hook: the client takes nothing", fields: keepConn, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		o.open("called")
		var err error
		for err == nil {
			_, err = io.WriteString(w, large)
		}
		o.open("failed")
	}, play: []step{do(func(r *run) {
		c, err := r.dial()
		if err != nil {
			r.failed = err.Error()
			return
		}
		defer c.Close()
		put(r.observer, c, get("/"))
		r.pass("called")
		r.outlast() // most likely it waits by now
		closeKept(r)
		r.pass("failed")
	}), leave()}},
	{name: "close by hook: between requests", fields: keepConn, handle: path, play: []step{say(get("/a")), hear(1), do(closeKept), end()}},
	{name: "close by hook: others live on", differs: &states, fields: keepConn, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			untilGone(o, w, r)
			return
		}
		path(o, w, r)
	}, play: []step{say(get("/gone")), pass("called"), do(closeKept), end(), conn(2), say(get("/a")), hear(1)}},

	{name: "context: ends when a write fails", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		o.err("set", c.SetWriteDeadline(time.Now().Add(-time.Second)))
		put(o, w, "x")
		o.err("flush", c.Flush())
		o.await(r.Context().Done(), "the context's end")
		o.err("context", r.Context().Err())
	}, play: []step{say(get("/")), end()}},
	{name: "context: ends when content cannot be echoed any more", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("duplex", http.NewResponseController(w).EnableFullDuplex())
		_, err := io.Copy(w, r.Body)
		o.note("fails %v", err != nil)
		o.await(r.Context().Done(), "the context's end")
		o.err("context", r.Context().Err())
	}, play: []step{do(func(r *run) {
		c, err := r.dial()
		if err != nil {
			r.failed = err.Error()
			return
		}
		put(r.observer, c, message("POST / HTTP/1.1", "Host: h", "Content-Length: 100000000")+large[:100_000])
		if _, err = io.CopyN(io.Discard, c, 50_000); err != nil {
			r.err("read", err)
		}
		abort(c)
	}), leave()}},

	{name: "shutdown: nothing is accepted when RegisterOnShutdown's functions run", play: another(func(r *run, s server, l net.Listener) {
		s.RegisterOnShutdown(func() {
			c, err := net.DialTimeout("tcp", l.Addr().String(), patience)
			if err == nil {
				c.Close()
			}
			r.note("refused %v", err != nil)
			r.open("told")
		})
		r.begin()
		go func() {
			defer r.end()
			err := s.Serve(l)
			r.pass("told") // which may come before or after
			r.err("Serve", err)
			r.open("served")
		}()
		ask(r, l.Addr())
		err := s.Shutdown(context.Background())
		r.pass("served")
		r.err("Shutdown", err)
	})},
	{name: "shutdown: a listener is closed once", foreign: true, play: another(func(r *run, s server, l net.Listener) {
		counted := &countedListener{Listener: l}
		served := make(chan error, 1)
		go func() { served <- s.Serve(counted) }()
		ask(r, l.Addr())
		err := s.Shutdown(context.Background())
		r.err("Serve", <-served)
		r.err("Shutdown", err)
		r.err("Close", s.Close())
		r.note("%d times", counted.closed.Load())
	})},
}

// told returns the states of a client's connection so far.
func (o *observer) told(remote string) []http.ConnState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]http.ConnState(nil), o.conns[remote].states...)
}

// inOrder is a hook that notes a state that net/http does not tell behind the one
// before: that of httptest.Server panics there.
func inOrder(o *observer) func(c net.Conn, s http.ConnState) {
	var mu sync.Mutex
	last := map[net.Conn]http.ConnState{}
	return func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		before, known := last[c]
		last[c] = s
		ok := known == (s != http.StateNew)
		switch s {
		case http.StateActive:
			ok = ok && (before == http.StateNew || before == http.StateIdle)
		case http.StateIdle:
			ok = ok && before == http.StateActive
		}
		if !ok {
			o.note("%s behind %s", s, before)
		}
	}
}

// keepConn has the server's hook keep the last connection that was accepted.
func keepConn(o *observer, s *http.Server) {
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.conn = c
		}
	}
}

// closeKept closes it, as CloseClientConnections of httptest.Server does.
func closeKept(r *run) {
	r.mu.Lock()
	c := r.conn
	r.mu.Unlock()
	if err := c.Close(); err != nil {
		r.err("Close", err)
	}
}

// halfPost is a request whose content does not come whole.
var halfPost = message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"

// A countedListener counts how often it is closed.
type countedListener struct {
	net.Listener
	closed atomic.Int64
}

func (l *countedListener) Close() error {
	l.closed.Add(1)
	return l.Listener.Close()
}
