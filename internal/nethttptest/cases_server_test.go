package nethttptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// gated writes down that it was called, and answers when the gate opens.
func gated(o *observer, w http.ResponseWriter, _ *http.Request) {
	o.open("called")
	o.pass("go on")
	put(o, w, "done")
}

// shutdown shuts down in the background, and notes how that ended.
func shutdown(r *run) {
	r.begin()
	go func() {
		defer r.end()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r.err("Shutdown", r.server.Shutdown(ctx))
		r.open("down")
	}()
}

// outlast lets a timeout pass.
func outlast(r *run) { r.observer.outlast() }

// refused waits until no new connection is accepted.
func refused(r *run) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c, err := r.dial() // whole: a handshake that fails is logged
		if err != nil {
			return
		}
		c.Close()
	}
	r.note("connections are still accepted")
}

// another does something with a second server, on a listener of its own.
func another(f func(r *run, s server, l net.Listener)) []step {
	return []step{do(func(r *run) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.failed = err.Error()
			return
		}
		defer l.Close()
		s := r.engine.make(&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/slow" {
				gated(r.observer, w, req)
			}
		})})
		f(r, s, l)
		r.err("Close", s.Close())
	})}
}

// serverTrials are about the fields and methods of a server.
var serverTrials = []trial{
	{name: "server: ReadHeaderTimeout", differs: &late, play: []step{say("GET / HTTP/1.1\r\nHo"), end()}, fields: func(o *observer, s *http.Server) {
		s.ReadHeaderTimeout = o.short()
	}},
	{name: "server: ReadHeaderTimeout for the second request", differs: &late, handle: path, play: []step{say(get("/a")), hear(1), say("GET / HTTP/1.1\r\nHo"), end()}, fields: func(o *observer, s *http.Server) {
		s.ReadHeaderTimeout = o.short()
	}},
	{name: "server: ReadHeaderTimeout does not bound content", handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		o.open("called")
		o.read(r.Body)
	}, play: []step{
		say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"), pass("called"), do(outlast), say("llo"), hear(1),
	}, fields: func(o *observer, s *http.Server) { s.ReadHeaderTimeout = o.short() }},
	{name: "server: ReadTimeout bounds content", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		o.note("%q, %s", b, describe(err))
		put(o, w, "late")
	}, play: []step{say(message("POST / HTTP/1.1", "Host: h", "Content-Length: 5") + "he"), hear(1)}, fields: func(o *observer, s *http.Server) {
		s.ReadTimeout = o.short()
	}},
	{name: "server: ReadTimeout bounds the head", differs: &late, play: []step{say("GET / HTTP/1.1\r\nHo"), end()}, fields: func(o *observer, s *http.Server) {
		s.ReadTimeout = o.short()
	}},
	{name: "server: ReadTimeout does not bound the handler", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.outlast()
		o.err("context", r.Context().Err())
		put(o, w, "x")
	}, send: get("/"), fields: func(o *observer, s *http.Server) {
		s.ReadTimeout, s.IdleTimeout = o.short(), time.Hour
	}},
	{name: "server: IdleTimeout", handle: path, play: []step{say(get("/a")), hear(1), end()}, fields: func(o *observer, s *http.Server) {
		s.IdleTimeout = o.short()
	}},
	{name: "server: IdleTimeout does not bound the handler", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		o.outlast()
		put(o, w, "x")
	}, play: []step{say(get("/", closing)), end()}, fields: func(o *observer, s *http.Server) { s.IdleTimeout = o.short() }},
	{name: "server: ReadTimeout as IdleTimeout", differs: &shutdowns, handle: path, play: []step{say(get("/a")), hear(1), do(outlast)}, fields: func(o *observer, s *http.Server) {
		s.ReadTimeout = o.short()
	}},
	{name: "server: WriteTimeout has passed when the handler answers", differs: &cutShort, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		o.outlast()
		put(o, w, "late")
		o.err("flush", w.(interface{ FlushError() error }).FlushError())
	}, play: []step{say(get("/")), fall()}, fields: func(o *observer, s *http.Server) { s.WriteTimeout = o.short() }},
	{name: "server: WriteTimeout begins with each request", handle: path, play: []step{
		say(get("/a")), hear(1), do(outlast), say(get("/b")), hear(2),
	}, fields: func(o *observer, s *http.Server) { s.WriteTimeout = o.short() }},

	{name: "server: keep-alives are off", handle: path, send: get("/a"), before: func(s server) { s.SetKeepAlivesEnabled(false) }},
	{name: "server: keep-alives are off, 1.0", differs: &faults, handle: path, send: message("GET /a HTTP/1.0", "Connection: keep-alive"), before: func(s server) { s.SetKeepAlivesEnabled(false) }},
	{name: "server: keep-alives off and on", handle: path, send: get("/a"), before: func(s server) {
		s.SetKeepAlivesEnabled(false)
		s.SetKeepAlivesEnabled(true)
	}},
	{name: "server: keep-alives are turned off by a handler", handle: gated, play: []step{
		say(get("/")), pass("called"), do(func(r *run) { r.server.SetKeepAlivesEnabled(false) }), open("go on"), end(),
	}},
	{name: "server: keep-alives are turned off, idle connections close", handle: path, play: []step{
		say(get("/a")), hear(1), do(func(r *run) { r.server.SetKeepAlivesEnabled(false) }), end(),
	}},

	{name: "server: ConnState of the handler's own", fields: func(o *observer, s *http.Server) {
		s.ConnState = func(c net.Conn, state http.ConnState) {
			o.note("%s at %s: %s", c.RemoteAddr(), c.LocalAddr(), state)
		}
	}, handle: path, play: []step{say(get("/a")), hear(1), say(get("/b", closing)), end()}},
	{name: "server: ErrorLog", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/twice":
			w.WriteHeader(200)
			w.WriteHeader(500)
		case "/length":
			w.Header().Set("Content-Length", "x")
			put(o, w, "x")
		default:
			panic(r.URL.Path)
		}
	}, play: []step{say(get("/twice")), hear(1), say(get("/length")), hear(2), say(get("/panic")), end()}},

	{name: "shutdown: idle connections are closed", handle: path, play: []step{say(get("/a")), hear(1), do(shutdown), end(), pass("down")}},
	{name: "shutdown: waits for a request", handle: gated, play: []step{
		say(get("/")), pass("called"), do(shutdown), do(refused), open("go on"), hear(1), end(), pass("down"),
	}},
	{name: "shutdown: waits for a stream", differs: &states, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		put(o, w, "begin ")
		flush(w)
		gated(o, w, r)
	}, play: []step{say(get("/")), pass("called"), do(shutdown), do(refused), open("go on"), hear(1), end(), pass("down")}},
	{name: "shutdown: Serve returns at once", play: another(func(r *run, s server, l net.Listener) {
		r.begin()
		go func() {
			defer r.end()
			r.err("Serve", s.Serve(l))
			r.open("served")
		}()
		c, err := dialClient(l.Addr(), nil)
		if err != nil {
			r.failed = err.Error()
			return
		}
		defer c.conn.Close()
		c.send(get("/slow"))
		r.pass("called")
		down := make(chan struct{})
		go func() {
			defer close(down)
			r.note("down without error %v", s.Shutdown(context.Background()) == nil)
		}()
		r.pass("served")
		r.open("go on")
		r.await(down, "the end of Shutdown")
	})},
	{name: "shutdown: contexts live on", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		gated(o, w, r)
		o.err("context", r.Context().Err())
	}, play: []step{say(get("/")), pass("called"), do(shutdown), do(refused), open("go on"), hear(1), end(), pass("down")}},
	{name: "shutdown: pipelined requests", handle: gated, play: []step{say(get("/") + get("/")), pass("called"), do(shutdown), do(refused), open("go on"), end(), pass("down")}},
	{name: "shutdown: too long", differs: &shutdowns, handle: gated, play: []step{
		say(get("/")), pass("called"), do(func(r *run) {
			ctx, cancel := context.WithTimeout(context.Background(), r.short())
			defer cancel()
			r.note("exceeded %v", errors.Is(r.server.Shutdown(ctx), context.DeadlineExceeded))
		}), open("go on"), end(),
	}},
	{name: "shutdown: hijacked connections live on", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, rw := hijack(o, w)
		defer c.Close()
		o.open("called")
		line, err := rw.ReadString('\n')
		o.note("%q, %s", line, describe(err))
		put(o, c, line)
	}, play: []step{say(get("/")), pass("called"), do(shutdown), pass("down"), say("hello\n"), end()}},
	{name: "shutdown: RegisterOnShutdown", play: []step{say(get("/")), hear(1), do(func(r *run) {
		r.server.RegisterOnShutdown(func() { r.open("told") })
		r.server.RegisterOnShutdown(func() { r.open("told too") })
	}), leave(), do(shutdown), pass("told"), pass("told too"), pass("down")}},
	{name: "shutdown: RegisterOnShutdown, by Close", play: another(func(r *run, s server, l net.Listener) {
		s.RegisterOnShutdown(func() { r.note("told") })
		r.err("Close", s.Close())
	})},
	{name: "close: cuts what is in progress", handle: gated, play: []step{say(get("/")), pass("called"), do(func(r *run) { r.err("Close", r.server.Close()) }), end(), open("go on")}},
	{name: "close: before Serve", play: another(func(r *run, s server, l net.Listener) {
		r.err("Close", s.Close())
		r.err("Serve", s.Serve(l))
		r.err("Shutdown", s.Shutdown(context.Background()))
	})},
	{name: "close: Serve closes its listener", play: another(func(r *run, s server, l net.Listener) {
		r.begin()
		go func() {
			defer r.end()
			r.err("Serve", s.Serve(l))
			r.open("served")
		}()
		ask(r, l.Addr())
		err := s.Shutdown(context.Background())
		r.pass("served")
		r.err("Shutdown", err)
		_, err = l.Accept()
		r.note("listener is closed %v", errors.Is(err, net.ErrClosed))
		r.err("Serve again", s.Serve(l))
	})},
	{name: "close: twice", play: another(func(r *run, s server, l net.Listener) {
		r.err("Close", s.Close())
		r.err("Close", s.Close())
		r.err("Shutdown", s.Shutdown(context.Background()))
	})},
	{name: "close: the listener fails", play: another(func(r *run, s server, l net.Listener) {
		r.err("close listener", l.Close())
		err := s.Serve(l)
		r.note("an error %v, ErrServerClosed %v", err != nil, errors.Is(err, http.ErrServerClosed))
	})},
	{name: "close: the listener is closed while it serves", play: another(func(r *run, s server, l net.Listener) {
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		ask(r, l.Addr())
		r.err("close listener", l.Close())
		select {
		case err := <-served:
			_, want := l.Accept()
			r.note("Serve returns what Accept does %v, ErrServerClosed %v", err.Error() == want.Error(), errors.Is(err, http.ErrServerClosed))
		case <-time.After(r.short()):
			r.note("Serve goes on")
			r.err("Close", s.Close())
			r.err("Serve", <-served)
		}
	})},
	{name: "close: ListenAndServe", play: []step{do(func(r *run) {
		addr := make(chan net.Addr, 1)
		s := r.engine.make(&http.Server{Addr: "127.0.0.1:0", Handler: http.NotFoundHandler(), BaseContext: func(l net.Listener) context.Context {
			addr <- l.Addr()
			return context.Background()
		}})
		served := make(chan error, 1)
		go func() { served <- s.ListenAndServe() }()
		select {
		case a := <-addr:
			ask(r, a)
		case err := <-served:
			r.failed = fmt.Sprintf("ListenAndServe: %v", err)
			return
		}
		r.err("Close", s.Close())
		r.err("ListenAndServe", <-served)
		r.err("again", s.ListenAndServe())
	})}},
	{name: "close: ListenAndServe at an address that is taken", play: []step{do(func(r *run) {
		s := r.engine.make(&http.Server{Addr: r.addr.String(), Handler: http.NotFoundHandler()})
		err := s.ListenAndServe()
		r.note("taken %v", errors.Is(err, syscall.EADDRINUSE))
		r.err("Close", s.Close())
	})}},
}

// ask asks another server and notes the status.
func ask(r *run, addr net.Addr) {
	c, err := dialClient(addr, nil)
	if err != nil {
		r.failed = err.Error()
		return
	}
	defer c.conn.Close()
	c.send(get("/", closing))
	c.awaitEOF()
	for _, a := range c.outcome().answers {
		r.note("%s", a.line)
	}
}
