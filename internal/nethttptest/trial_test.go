package nethttptest

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// A server is what http.Server and redline.Server both are.
type server interface {
	Serve(l net.Listener) error
	ServeTLS(l net.Listener, certFile, keyFile string) error
	ListenAndServe() error
	Shutdown(ctx context.Context) error
	Close() error
	RegisterOnShutdown(f func())
	SetKeepAlivesEnabled(on bool)
}

// An engine makes servers of one kind. It takes the fields from an http.Server that
// nothing else is done with.
type engine struct {
	name string
	make func(fields *http.Server) server
}

// netHTTP is the reference.
var netHTTP = engine{"net/http", func(fields *http.Server) server { return fields }}

// A trial is a script with a handler.
type trial struct {
	name string

	// The server: its fields, where zeros do not do; what is called before it serves.
	fields func(o *observer, s *http.Server)
	before func(s server)

	// The handler, in one of these forms.
	handle  func(o *observer, w http.ResponseWriter, r *http.Request)
	handler func(o *observer) http.Handler
	settle  time.Duration // how long handlers may take to end; 0 means patience
	short   time.Duration // timeouts that are to pass; 0 means soon
	foreign bool          // a listener is none of package net's: only one transport takes it
	noPath  bool          // the target is none: a router would not know where it belongs
	http2   bool          // it is played over HTTP/2
	secure  bool          // it is played over TLS, on one engine: see secureTrials
	turn    int           // which one
	plain   string        // the trial in clear, if the difference is the same
	hello   string        // the client's preface, if it is not the usual one
	bare    bool          // do not wrap it: then nothing may be observed in it, and the probe is answered by it

	// The script: send and wait for one answer, or steps.
	send string
	play []step

	// Where Redline differs on purpose: the reason. Where it refuses what net/http lets
	// through, the status and the words; otherwise the list of differences has the
	// exact lines.
	differs *reason
	refuses string
}

// A run is a trial on one engine.
type run struct {
	*observer
	engine  engine
	server  server
	addr    net.Addr
	clients []*client
	c       *client     // whose steps these are
	failed  string      // why the script could not be played
	hello   string      // with which clients begin to speak HTTP/2
	secure  *tls.Config // of clients, or nil
}

// A step is a part of a script.
type step func(r *run)

// conn turns to a client's connection, counted from 1, and opens it when it is new.
func conn(n int) step {
	return func(r *run) {
		for len(r.clients) < n {
			c, err := dialClient(r.addr, r.secure)
			if err != nil {
				r.failed = fmt.Sprintf("connection %d is refused", n)
				return
			}
			if r.clients = append(r.clients, c); r.hello != "" {
				c.h2 = new(translator)
				c.sendRaw(r.hello)
			}
		}
		r.c = r.clients[n-1]
	}
}

// say sends bytes.
func say(s string) step { return func(r *run) { r.c.send(s) } }

// raw sends bytes of HTTP/2.
func raw(frames ...string) step {
	return func(r *run) { r.c.sendRaw(strings.Join(frames, "")) }
}

// toHEAD says which of the final answers of this connection have no body.
func toHEAD(finals ...int) step { return func(r *run) { r.c.heads = finals } }

// hear waits until n final answers have come whole on this connection.
func hear(n int) step {
	return func(r *run) {
		r.c.wait(fmt.Sprintf("%d answers", n), func(answers []answer, _ []byte) bool { return finals(answers) >= n })
	}
}

// hearInfo waits until n informational answers have come.
func hearInfo(n int) step {
	return func(r *run) {
		r.c.wait(fmt.Sprintf("%d informational answers", n), func(answers []answer, _ []byte) bool {
			return len(answers)-finals(answers) >= n
		})
	}
}

// hearText waits until some text has come in whatever form.
func hearText(text string) step {
	return func(r *run) {
		r.c.wait(fmt.Sprintf("%q", text), func(answers []answer, rest []byte) bool {
			for _, a := range answers {
				if strings.Contains(string(a.body), text) {
					return true
				}
			}
			return strings.Contains(string(rest), text)
		})
	}
}

// hearHead waits for the head of n answers; hearBytes for so much of one body.
func hearHead(n int) step {
	return func(r *run) {
		r.c.wait("a head", func(answers []answer, _ []byte) bool { return len(answers) >= n })
	}
}

func hearBytes(n int) step {
	return func(r *run) {
		r.c.wait("content", func(answers []answer, _ []byte) bool { return len(answers) > 0 && len(answers[0].body) >= n })
	}
}

// hearGoAway waits for GOAWAY.
func hearGoAway() step {
	return func(r *run) {
		r.c.wait("GOAWAY", func([]answer, []byte) bool { return r.c.talk().goAway != "" })
	}
}

// pass waits for a gate that a handler opens; open opens one that it waits for.
func pass(name string) step { return func(r *run) { r.observer.pass(name) } }
func open(name string) step { return func(r *run) { r.observer.open(name) } }

// end waits for the server to close the connection; leave closes it, reset cuts
// it, and half closes the client's half. They end the script of this connection.
func end() step { return func(r *run) { r.c.awaitEOF(); r.c.fate = "closed" } }

// fall is end, and tells whether the server cut the connection.
func fall() step {
	return func(r *run) {
		r.c.awaitEOF()
		if r.c.fate = "closed"; r.c.wasReset() {
			r.c.fate = "cut"
		}
	}
}

func leave() step { return func(r *run) { r.c.leave(); r.c.fate = "left" } }

func reset() step {
	return func(r *run) {
		abort(r.c.conn)
		r.c.fate = "left"
	}
}

func half() step {
	return func(r *run) {
		r.c.half()
		r.c.awaitEOF()
		r.c.fate = "closed"
	}
}

// do does anything else.
func do(f func(r *run)) step { return f }

// start runs a trial on an engine, and returns its outcome.
func (t *trial) start(e engine, dir string) *outcome {
	o := newObserver(dir)
	o.timeout = cmp.Or(t.short, soon)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return &outcome{failed: err.Error()}
	}
	fields := &http.Server{Handler: t.wrapped(o), ErrorLog: log.New(o, "", 0)}
	if t.fields != nil {
		t.fields(o, fields)
	}
	if t.http2 {
		fields.Protocols = protocolsInClear()
	}
	told := fields.ConnState
	fields.ConnState = func(c net.Conn, s http.ConnState) {
		o.state(c, s)
		if told != nil {
			told(c, s)
		}
	}
	o.secure = t.secure
	if t.secure {
		fields.TLSConfig = serverTLS()
	}
	r := &run{observer: o, engine: e, server: e.make(fields), addr: l.Addr()}
	serve := r.server.Serve
	if t.secure {
		r.secure, serve = clientTLS(), func(l net.Listener) error { return r.server.ServeTLS(l, "", "") }
	}
	if t.http2 {
		r.hello = cmp.Or(t.hello, wide)
	}
	if t.before != nil {
		t.before(r.server)
	}
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	began := time.Now()
	r.script(t)
	slow := time.Since(began) >= lingers
	waits(patience, func() bool { return o.ended(r.clients) })
	waits(cmp.Or(t.settle, patience), o.idle)
	if err := r.server.Close(); err != nil {
		o.err("Close", err)
	}
	out := r.outcome()
	out.timed, out.slow = o.timed.Load(), slow
	select {
	case err := <-served:
		if err != http.ErrServerClosed {
			out.failed = fmt.Sprintf("Serve: %v", err)
		}
	case <-time.After(patience):
		out.failed = "Serve does not return"
	}
	return out
}

// waits waits for something, but not for longer than it is told.
func waits(most time.Duration, ok func() bool) {
	for end := time.Now().Add(most); !ok() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// script plays the steps, and leaves no connection open.
func (r *run) script(t *trial) {
	steps := t.play
	if steps == nil {
		steps = []step{say(t.send), hear(1)}
	}
	for _, s := range append([]step{conn(1)}, steps...) {
		if s(r); r.failed != "" {
			break
		}
	}
	for _, c := range r.clients {
		if c.fate == "" {
			c.probe()
		}
		c.over.Close()
	}
}

// wrapped is the trial's handler behind one that answers probes and counts.
func (t *trial) wrapped(o *observer) http.Handler {
	h := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.handle(o, w, r) }))
	if t.handler != nil {
		h = t.handler(o)
	} else if t.handle == nil {
		h = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	}
	if t.bare {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.begin()
		defer o.end()
		if r.URL.Path == probePath {
			w.Header().Set(probeHeader, "1")
			return
		}
		o.mu.Lock()
		o.calls++
		o.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

var loopback = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// outcome collects what came of a run.
func (r *run) outcome() *outcome {
	settled := r.settled(r.clients)
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]string{r.addr.String(): "SERVER"}
	out := &outcome{calls: r.calls, failed: r.failed}
	for i, c := range r.clients {
		names[c.addr] = "CLIENT"
		if c.h2 != nil && c.h2.failed {
			out.failed = "the script cannot be translated"
		}
		if i > 0 {
			names[c.addr] = fmt.Sprintf("CLIENT%d", i+1)
		}
		k := c.outcome()
		if told := r.conns[c.addr]; told != nil {
			k.states = told.states
		}
		out.conns = append(out.conns, k)
	}
	clean := func(lines []string) []string {
		for i, l := range lines {
			if r.dir != "" {
				l = strings.ReplaceAll(l, r.dir, "DIR")
			}
			lines[i] = loopback.ReplaceAllStringFunc(l, func(addr string) string {
				if name, ok := names[addr]; ok {
					return name
				}
				return addr
			})
		}
		return lines
	}
	out.seen, out.log = clean(r.seen), clean(r.log)
	if !settled {
		out.seen = append(out.seen, "handlers or connections have not ended")
	}
	return out
}
