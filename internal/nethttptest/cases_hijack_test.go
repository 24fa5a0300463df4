package nethttptest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// hijack takes the connection over, and bounds what is done with it.
func hijack(o *observer, w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
	c, rw, err := w.(http.Hijacker).Hijack()
	o.err("hijack", err)
	if err == nil {
		o.err("deadline", c.SetDeadline(time.Now().Add(patience)))
	}
	return c, rw
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"

// noKeepAlives has connections be used once.
func noKeepAlives(s server) { s.SetKeepAlivesEnabled(false) }

// switches answers 101 with this field and takes the connection over.
func switches(name, value string) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set(name, value)
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, _ := hijack(o, w)
		defer c.Close()
		put(o, c, "raw")
	}
}

// logged waits for the server to log something: it may do so when the connection has
// ended for all others.
func logged(r *run) {
	waits(patience, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.log) > 0
	})
}

// hijackTrials are about connections that handlers take over.
var hijackTrials = []trial{
	{name: "hijack: echo", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, rw := hijack(o, w)
		defer c.Close()
		put(o, rw, switching)
		o.err("flush", rw.Flush())
		line, err := rw.ReadString('\n')
		o.note("%q, %s", line, describe(err))
		put(o, c, "echo "+line)
	}, play: []step{say(get("/", "Connection: upgrade", "Upgrade: x")), hear(1), say("hello\n"), end()}},
	{name: "hijack: bytes that came behind the request", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, rw := hijack(o, w)
		defer c.Close()
		o.note("%d bytes are buffered", rw.Reader.Buffered())
		b, err := io.ReadAll(rw)
		o.note("%q, %s", b, describe(err))
		put(o, c, "bye")
	}, play: []step{say(get("/") + "early"), half()}},
	{name: "hijack: bytes read from the connection itself", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		o.open("hijacked")
		b, err := io.ReadAll(c)
		o.note("%q, %s", b, describe(err))
	}, play: []step{say(get("/")), pass("hijacked"), say("late"), half()}},
	{name: "hijack: writes behind it", play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		n, err := w.Write([]byte("x"))
		o.note("write: %d, %s", n, describe(err))
		n, err = io.WriteString(w, "x")
		o.note("write string: %d, %s", n, describe(err))
		w.WriteHeader(500)
		_, _, err = w.(http.Hijacker).Hijack()
		o.err("hijack again", err)
		w.Header().Set("X-A", "b")
	}},
	{name: "hijack: flush after it", differs: &faults, play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		panics(o, "flush", func() { o.err("flush", w.(interface{ FlushError() error }).FlushError()) })
	}},
	{name: "hijack: after a write", differs: &written, play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "written")
		c, rw := hijack(o, w)
		defer c.Close()
		put(o, rw, "raw")
		o.err("flush", rw.Flush())
	}},
	{name: "hijack: behind a flush", play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		put(o, w, "written")
		flush(w)
		c, _ := hijack(o, w)
		defer c.Close()
		put(o, c, "raw")
	}},
	{name: "hijack: after an announced length", differs: &written, play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		put(o, w, "hello")
		c, _ := hijack(o, w)
		defer c.Close()
		put(o, c, "raw")
	}},
	{name: "hijack: with WriteHeader(101) in front", play: []step{say(get("/", "Connection: upgrade", "Upgrade: x")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "upgrade")
		w.Header().Set("Upgrade", "x")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, _ := hijack(o, w)
		defer c.Close()
		put(o, c, "raw")
	}},
	{name: "hijack: content is not read", differs: &faults, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c, rw := hijack(o, w)
		defer c.Close()
		n, err := r.Body.Read(make([]byte, 10))
		o.note("content: %d, %s", n, describe(err))
		panics(o, "read", func() {
			b, err := io.ReadAll(rw)
			o.note("%q, %s", b, describe(err))
		})
	}, play: []step{say(post("/", "hello") + "behind"), half()}},
	{name: "hijack: content is read", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.read(r.Body)
		c, rw := hijack(o, w)
		defer c.Close()
		b, err := io.ReadAll(rw)
		o.note("%q, %s", b, describe(err))
	}, play: []step{say(post("/", "hello") + "behind"), half()}},
	{name: "hijack: handler returns, connection lives on", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c, rw := hijack(o, w)
		o.begin()
		go func() {
			defer o.end()
			defer c.Close()
			o.await(r.Context().Done(), "the end of the handler")
			o.err("context", r.Context().Err())
			for i := range 3 {
				line, err := rw.ReadString('\n')
				o.note("%q, %s", line, describe(err))
				fmt.Fprintf(c, "%d\n", i)
			}
		}()
	}, play: []step{say(get("/")), say("a\n"), hearText("0\n"), say("b\n"), hearText("1\n"), say("c\n"), end()}},
	{name: "hijack: pipelined behind another request", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			put(o, w, "a")
			return
		}
		c, rw := hijack(o, w)
		defer c.Close()
		b, err := io.ReadAll(rw)
		o.note("%q, %s", b, describe(err))
		put(o, c, "raw")
	}, play: []step{say(get("/a") + get("/b") + "behind"), half()}},
	{name: "hijack: 1 MiB both ways", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, rw := hijack(o, w)
		defer c.Close()
		n, err := io.Copy(c, io.LimitReader(rw, 1<<20))
		o.note("%d, %s", n, describe(err))
	}, play: []step{say(get("/") + large), end()}},
	{name: "hijack: addresses", play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		o.note("%s %s, %s", c.LocalAddr().Network(), c.LocalAddr(), c.RemoteAddr())
		o.err("close", c.Close())
		_, err := c.Write([]byte("x"))
		o.err("write", err)
	}},
	{name: "hijack: half-closing", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		h, ok := c.(interface{ CloseWrite() error })
		o.note("half-closes %v", ok)
		if ok {
			o.err("close write", h.CloseWrite())
		}
		b, err := io.ReadAll(c)
		o.note("%q, %s", b, describe(err))
	}, play: []step{say(get("/")), end(), say("late"), half()}},
	{name: "hijack: deadlines", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		o.err("set", c.SetReadDeadline(time.Now().Add(-time.Second)))
		_, err := c.Read(make([]byte, 1))
		o.err("read", err)
		o.err("set", c.SetReadDeadline(time.Time{}))
		put(o, c, "now")
		b, err := io.ReadAll(c)
		o.note("%q, %s", b, describe(err))
	}, play: []step{say(get("/")), hearText("now"), say("late"), half()}},
	{name: "hijack: deadlines by the controller", handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		control := http.NewResponseController(w)
		o.err("set", control.SetReadDeadline(time.Now().Add(-time.Second)))
		_, err := c.Read(make([]byte, 1))
		o.err("read", err)
		o.err("set", control.SetReadDeadline(time.Time{}))
		o.err("set", control.SetWriteDeadline(time.Now().Add(-time.Second)))
		_, err = c.Write([]byte("x"))
		o.err("write", err)
	}, play: []step{say(get("/")), end()}},
	{name: "hijack: switching, keep-alives are off", before: noKeepAlives, play: []step{say(get("/", "Connection: upgrade", "Upgrade: x")), end()}, handle: switches("Upgrade", "x")},
	{name: "hijack: switching, client closes", play: []step{say(get("/", "Connection: upgrade, close", "Upgrade: x")), end()}, handle: switches("Upgrade", "x")},
	{name: "hijack: switching without Upgrade, keep-alives are off", differs: &framing, before: noKeepAlives, play: []step{say(get("/")), end()}, handle: switches("X-A", "b")},
	{name: "hijack: no switching, keep-alives are off", differs: &framing, before: noKeepAlives, send: get("/"), handle: answers(200, []string{"Connection", "Upgrade", "Upgrade", "x"}, "x")},
	{name: "hijack: client leaves", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		put(o, c, "go")
		_, err := c.Read(make([]byte, 1))
		o.err("read", err)
		o.err("context", r.Context().Err())
	}, play: []step{say(get("/")), hearText("go"), leave()}},
	{name: "hijack: panic behind it", play: []step{say(get("/")), end(), logged}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		put(o, c, "raw")
		c.Close()
		panic("behind the hijack")
	}},
	{name: "hijack: HTTP/1.0", play: []step{say(message("GET / HTTP/1.0")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _ := hijack(o, w)
		defer c.Close()
		put(o, c, "raw")
	}},
	{name: "hijack: CONNECT", noPath: true, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		c, rw := hijack(o, w)
		defer c.Close()
		o.note("%s %s", r.Method, r.Host)
		put(o, c, "HTTP/1.1 200 Connection established\r\n\r\n")
		b, err := io.ReadAll(rw)
		o.note("%q, %s", b, describe(err))
	}, play: []step{say(message("CONNECT h:443 HTTP/1.1", "Host: h:443") + "tunnelled"), half()}},
	{name: "hijack: CONNECT of net/rpc", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.request(r)
		c, rw := hijack(o, w)
		defer c.Close()
		line, err := rw.ReadString('\n')
		o.note("%q, %s", line, describe(err))
		put(o, c, "HTTP/1.0 200 Connected to Go RPC\n\n")
	}, play: []step{say("CONNECT /_goRPC_ HTTP/1.0\n\n" + "call\n"), end()}},
	{name: "hijack: HTTP/2 of a handler's own", noPath: true, handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.request(r)
		c, rw := hijack(o, w)
		defer c.Close()
		rest := make([]byte, len("SM\r\n\r\n"))
		_, err := io.ReadFull(rw, rest)
		o.note("%q, %s", rest, describe(err))
		put(o, c, "frames")
	}, play: []step{say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), end()}},
	{name: "hijack: by the controller", play: []step{say(get("/")), end()}, handle: func(o *observer, w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		o.err("hijack", err)
		defer c.Close()
		put(o, c, "raw")
	}},
}
