package http1

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// TestEOF answers what ended within a request, and closes.
func TestEOF(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		"\r\n":                                  "",
		"G":                                     refused(400, "connection ended within a request"),
		"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n": refused(400, "connection ended within a request"),
	} {
		m := newMem(t, handlers).send(req("GET", "/text", ""), in)
		m.eof()
		state := "closed"
		if want != "" {
			state = "refused"
		}
		m.want(state, answer(200, "", "hello")+want)
	}
	// Within content that nobody wants: it is answered already.
	m := newMem(t, handlers).send(req("POST", "/text", "Content-Length: 10\r\n") + "abc")
	m.eof()
	m.want("closed", answer(200, "", "hello"))
}

// TestDeadlines wants each deadline where it is documented: 1 is for the head, 2 for content, or to
// look whether output was accepted, and 3 for the rest of an idle connection's time after that.
func TestDeadlines(t *testing.T) {
	due := func(m *memConn, want int, when string) {
		t.Helper()
		if got := m.due(); got != want {
			t.Errorf("%s the deadline is number %d, want %d", when, got, want)
		}
	}
	idle := func(m *memConn, when string) {
		t.Helper()
		due(m, 2, when)
		m.expire()
		due(m, 3, when+", a little later,")
	}
	m := newMem(t, handlers)
	due(m, 1, "after accept")
	first := m.deadline
	m.send("GET ")
	if m.deadline != first {
		t.Error("the first byte moves the deadline, which counts from accept")
	}
	m.send(req("GET", "/text", "")[4:])
	idle(m, "between requests")
	m.send("G")
	due(m, 1, "within a head")
	m.deadline = first
	m.send("E")
	if m.deadline != first {
		t.Error("each byte of a head moves its deadline")
	}
	m.send(req("GET", "/text", "")[2:] + "GET")
	due(m, 1, "within a head behind a request")
	m.send(req("POST", "/text", "Content-Length: 10\r\n")[3:])
	due(m, 2, "while content is skipped")
	m.send("0123456789")
	due(m, 5, "when it has been skipped")

	read := pathHandler{"echo": func(x *exchange.Exchange) {
		if _, err := x.Session.ReadBody(x, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		due(m, 2, "when the handler has waited for content")
		if err := x.Session.SendBody(x, make([]byte, refBody)); err != nil {
			t.Error(err)
		}
		if got := hours(m.roomBy); got != 2 {
			t.Errorf("when the handler has waited for output the deadline is number %d, want 2", got)
		}
	}}
	m = newMem(t, read)
	m.send(req("POST", "/echo", "Content-Length: 1\r\n"), "x")
	idle(m, "after that")
	none := newMem(t, handlers, func(c *exchange.Config) { c.HeaderTimeout, c.IdleTimeout = 0, 0 })
	due(none, 0, "without any")
	none.send(req("GET", "/text", ""))
	due(none, 2, "without any, with an answer that may not have been accepted,")
	none.expire()
	due(none, 0, "without any, idle")
}

// TestExpired ends connections whose time is over.
func TestExpired(t *testing.T) {
	m := newMem(t, handlers)
	m.expire()
	m.want("closed", "")

	m = newMem(t, handlers).send(req("GET", "/text", ""))
	m.expire() // it was accepted
	m.want("idle", answer(200, "", "hello"))
	m.expire()
	m.want("closed", answer(200, "", "hello"))

	m = newMem(t, handlers).send(req("GET", "/text", "") + "GET / HTTP/1.1\r\n")
	m.expire()
	m.want("refused", answer(200, "", "hello")+refused(408, "request head not complete in time"))

	m = newMem(t, handlers).send(req("POST", "/text", "Content-Length: 10\r\n"))
	m.expire()
	m.want("refused", answer(200, "", "hello"))
}

// TestSlowReader bounds the time that a client may leave its answer lying.
func TestSlowReader(t *testing.T) {
	m := newMem(t, handlers)
	m.stuck = true
	m.send(req("GET", "/text", ""))
	if m.due() != 2 {
		t.Errorf("deadline %d when an answer has been written, want that for output", m.due())
	}
	m.send(req("GET", "/text", ""))
	if m.due() != 2 {
		t.Errorf("deadline %d with an answer lying, want that for output", m.due())
	}
	m.unstick()
	m.want("idle", strings.Repeat(answer(200, "", "hello"), 2))
	if m.due() != 5 {
		t.Errorf("deadline %d when the client has taken all, want idle's", m.due())
	}
	m.stuck = true
	m.send(req("GET", "/text", ""))
	m.expire() // its time begins
	m.want("idle", strings.Repeat(answer(200, "", "hello"), 2))
	m.expire()
	if m.state() != "cut" {
		t.Errorf("a client that takes nothing is %s", m.state())
	}

	// What is written piece by piece waits, and the handler is told.
	var errs []error
	h := pathHandler{"much": func(x *exchange.Exchange) {
		for range 100 {
			errs = append(errs, x.Session.SendBody(x, make([]byte, 1000)))
		}
	}}
	m = newMem(t, h, func(c *exchange.Config) { c.HighWater = 10_000 })
	m.stuck = true
	m.send(req("GET", "/much", ""))
	if i := slices.Index(errs, exchange.ErrTimeout); i < 5 || i > 15 || m.state() != "cut" {
		t.Errorf("with 10,000 bytes at most unsent, writing fails first at part %d of 1,000 bytes, connection %s", i, m.state())
	}
	if n := m.pending.Len(); n > 12_000 {
		t.Errorf("%d bytes lie unsent", n)
	}
}

// TestPipelineBounded sends what many pipelined requests have asked for before it
// is too much.
func TestPipelineBounded(t *testing.T) {
	h := pathHandler{"k": func(x *exchange.Exchange) { x.Body = append(x.Body, make([]byte, 1000)...) }}
	m := newMem(t, h, func(c *exchange.Config) { c.HighWater = 10_000 })
	m.send(strings.Repeat(req("GET", "/k", ""), 100))
	if slices.Max(m.writes) > 12_000 || len(m.writes) < 5 || m.state() != "idle" {
		t.Errorf("writes of %d bytes, %s", m.writes, m.state())
	}
}

// TestLost tells the exchange in progress that its client has gone.
func TestLost(t *testing.T) {
	told := 0
	h := pathHandler{"wait": nil, "text": handlers["text"]}
	m := newMem(t, h)
	h["wait"] = func(x *exchange.Exchange) {
		if x.Session.OnGone(func() { told++ }) {
			t.Error("gone before it left")
		}
		m.session.Lost(errLost)
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		if !x.Session.OnGone(func() { told += 100 }) {
			t.Error("not gone after it left")
		}
	}
	m.send(req("GET", "/wait", ""))
	if told != 1 {
		t.Errorf("told %d", told)
	}
	m.session.Closed(errLost)
	if told != 1 {
		t.Errorf("told again: %d", told)
	}

	// Everybody who asked.
	told = 0
	h["wait"] = func(x *exchange.Exchange) {
		x.Session.OnGone(func() { told++ })
		x.Session.OnGone(func() { told += 10 })
		m.session.Lost(errLost)
	}
	m = newMem(t, h)
	m.send(req("GET", "/wait", ""))
	if told != 11 {
		t.Errorf("two asked: told %d", told)
	}

	// Not after the handler has returned.
	told = 0
	h["wait"] = func(x *exchange.Exchange) { x.Session.OnGone(func() { told++ }) }
	m = newMem(t, h).send(req("GET", "/wait", ""))
	m.session.Lost(errLost)
	m.session.Closed(errLost)
	if told != 0 {
		t.Error("told after the handler has returned")
	}
}

// TestHijack hands over what was read and not consumed.
func TestHijack(t *testing.T) {
	var got []net.Conn
	h := pathHandler{"up": func(x *exchange.Exchange) {
		if x.HasBody() {
			if _, err := x.Session.ReadBody(x, make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}
		c, err := x.Session.Hijack(x)
		if err != nil {
			t.Error(err)
		}
		got = append(got, c)
		for what, err := range map[string]error{
			"Hijack":   second(x.Session.Hijack(x)),
			"SendBody": x.Session.SendBody(x, []byte("x")),
			"SendInfo": x.Session.SendInfo(x, 103),
			"Flush":    x.Session.Flush(x),
			"ReadBody": second(x.Session.ReadBody(x, make([]byte, 1))),
		} {
			if err != exchange.ErrHijacked {
				t.Errorf("%s after Hijack: %v", what, err)
			}
		}
		x.Body = append(x.Body, "dropped"...)
	}, "text": handlers["text"]}
	for _, c := range []struct{ unread, in, before string }{
		{"", req("GET", "/up", ""), ""},
		{"raw" + behind, req("GET", "/up", "") + "raw" + behind, ""},
		{"raw", req("GET", "/text", "") + req("GET", "/up", "") + "raw", answer(200, "", "hello")},
		{"bcraw", req("POST", "/up", "Content-Length: 3\r\n") + "abcraw", ""},
	} {
		m := newMem(t, h).send(c.in)
		m.want("hijacked", c.before)
		if m.hijacked != nil && (m.hijacked.unread != c.unread || got[len(got)-1] != net.Conn(m.hijacked)) {
			t.Errorf("handed over with %q unread, want %q", m.hijacked.unread, c.unread)
		}
	}
	m := newMem(t, h).send(req("POST", "/up", "Transfer-Encoding: chunked\r\n"), "3\r\nabc\r\n0\r\n\r\nraw")
	if m.hijacked == nil || m.hijacked.unread != "bc\r\n0\r\n\r\nraw" {
		t.Errorf("what was read ahead is not handed over: %+v", m.hijacked)
	}
}

func second[T any](_ T, err error) error { return err }

// TestStates tells the states of a connection in their order.
func TestStates(t *testing.T) {
	var mu sync.Mutex
	var got []exchange.State
	m := newMem(t, handlers, func(c *exchange.Config) {
		c.State = func(_ exchange.Conn, s exchange.State) bool {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, s)
			return true
		}
	})
	m.send(req("GET", "/text", ""), "G", req("GET", "/text", "")[1:]+req("GET", "/text", ""))
	m.session.Closed(nil)
	want := []exchange.State{exchange.StateNew, exchange.StateActive, exchange.StateIdle, exchange.StateActive, exchange.StateIdle, exchange.StateActive, exchange.StateIdle, exchange.StateClosed}
	if !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
}

// TestStopping closes connections with their answers while the server shuts down.
func TestStopping(t *testing.T) {
	stopping := func(c *exchange.Config) { c.Stopping = func() bool { return true } }
	newMem(t, handlers, stopping).send(req("GET", "/text", "")).want("closed", answer(200, closes, "hello"))
	newMem(t, handlers, stopping).send(req("GET", "/whole", "")).want("closed", answer(200, closes, "abc"))
	newMem(t, handlers, stopping).send(req("GET", "/chunks", "")+behind).
		want("refused", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n1\r\nf\r\n0\r\n\r\n")
}

// TestStatic sends a static body from where it is, and what is written behind it.
func TestStatic(t *testing.T) {
	large := []byte(strings.Repeat("static ", 2000))
	h := pathHandler{
		"static": func(x *exchange.Exchange) { x.Static = large },
		"behind": func(x *exchange.Exchange) { x.Static, x.Body = large, append(x.Body, "!"...) },
		"flush": func(x *exchange.Exchange) {
			x.Static = large
			must(x.Session.Flush(x))
			x.Body = append(x.Body, "!"...)
		},
	}
	newMem(t, h).send(req("GET", "/static", "")).want("idle", answer(200, "", string(large)))
	newMem(t, h).send(req("GET", "/behind", "")).want("idle", answer(200, "", string(large)+"!"))
	newMem(t, h).send(req("GET", "/flush", "")).
		want("idle", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n36b0\r\n"+string(large)+"\r\n1\r\n!\r\n0\r\n\r\n")
	if head := strings.Split(newMem(t, h).send(req("HEAD", "/static", "")).answers(), "\r\n"); head[1] != "Content-Length: 14000" || head[len(head)-1] != "" {
		t.Errorf("HEAD: %q", head)
	}

	// By reference: the array itself is in the queue.
	m := newMem(t, h)
	m.stuck = true
	m.send(req("GET", "/static", ""))
	found := false
	for _, b := range m.pending.Buffers(make([][]byte, 0, 8)) {
		found = found || &b[0] == &large[0]
	}
	if !found {
		t.Error("a static body was copied")
	}
}

// TestOpenings has one connection answered in ways that differ in one thing each:
// what is kept of a head must never show in another.
func TestOpenings(t *testing.T) {
	lines := map[string][]string{
		"a": {"A", "1"}, "b": {"A", "2"}, "c": {"B", "1"}, "ab": {"A", "1", "B", "2"}, "none": {}, "many": {"A", "1", "B", "2", "C", "3", "D", "4"},
	}
	h := pathHandler{}
	for name, fields := range lines {
		for _, status := range []int{200, 404} {
			h[fmt.Sprint(name, status)] = func(x *exchange.Exchange) {
				x.Status = status
				for i := 0; i < len(fields); i += 2 {
					must(x.Response.Add(fields[i], fields[i+1]))
				}
				x.Body = append(x.Body, strings.Repeat("x", len(name)*status)...)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	names := slices.Sorted(maps.Keys(h))
	var in, want strings.Builder
	for range 500 {
		name := names[rng.IntN(len(names))]
		in.WriteString(strings.Repeat(req("GET", "/"+name, ""), 2))
		short, status := name[:len(name)-3], 200
		if strings.HasSuffix(name, "404") {
			status = 404
		}
		var fields strings.Builder
		for i := 0; i < len(lines[short]); i += 2 {
			fmt.Fprintf(&fields, "%s: %s\r\n", lines[short][i], lines[short][i+1])
		}
		want.WriteString(strings.Repeat(answer(status, fields.String(), strings.Repeat("x", len(short)*status)), 2))
	}
	newMem(t, h).send(in.String()).want("idle", want.String())
}
