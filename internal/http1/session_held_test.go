package http1

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// holding is a handler that holds each exchange, and gives it to the test.
func holding(change func(*exchange.Exchange)) (pathHandler, <-chan exchange.Held) {
	held := make(chan exchange.Held, 1)
	return pathHandler{
		"hold": func(x *exchange.Exchange) {
			x.Session.Hold(x, func(h exchange.Held) { held <- h })
			if change != nil {
				change(x)
			}
		},
		"text": handlers["text"], "echo": handlers["echo"],
	}, held
}

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// TestHeld goes on after its handler, with a request waiting behind it.
func TestHeld(t *testing.T) {
	handler, held := holding(func(x *exchange.Exchange) { x.Body = append(x.Body, "begin"...) })
	m := newMem(t, handler).send(req("GET", "/hold", "") + behind)
	m.want("held", chunkedHead+"5\r\nbegin\r\n")
	h := <-held
	must(h.Send([]byte("a")))
	must(h.Send([]byte("b")))
	must(h.Send(nil))
	m.woken()
	m.want("held", chunkedHead+"5\r\nbegin\r\n2\r\nab\r\n")
	m.send(behind) // it waits too
	must(h.Send([]byte("c")))
	h.Close()
	h.Close()
	if err := h.Send([]byte("d")); err != exchange.ErrGone {
		t.Errorf("Send after Close: %v", err)
	}
	m.woken()
	m.want("idle", chunkedHead+"5\r\nbegin\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"+strings.Repeat(answer(200, "", "hello"), 2))
}

// TestHeldFraming frames what is sent from elsewhere like anything else.
func TestHeldFraming(t *testing.T) {
	run := func(in string, change func(*exchange.Exchange), parts ...string) (*memConn, error) {
		handler, held := holding(change)
		m := newMem(t, handler).send(in)
		h := <-held
		var first error
		for _, p := range parts {
			if err := h.Send([]byte(p)); err != nil && first == nil {
				first = err
			}
		}
		h.Close()
		m.woken()
		return m, first
	}
	length := func(x *exchange.Exchange) { x.Response.Length = 4 }
	cases := []struct {
		name, in    string
		change      func(*exchange.Exchange)
		parts       []string
		err         error
		state, want string
	}{
		{"announced", req("GET", "/hold", ""), length, []string{"ab", "cd"}, nil, "idle", answer(200, "", "abcd")},
		{"announced, too much", req("GET", "/hold", ""), length, []string{"abcd", "e"}, exchange.ErrLength, "idle", answer(200, "", "abcd")},
		{"announced, too little", req("GET", "/hold", ""), length, []string{"abc"}, nil, "closed", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"},
		{"HEAD", req("HEAD", "/hold", ""), nil, []string{"abc"}, nil, "idle", "HTTP/1.1 200 OK\r\n\r\n"},
		{"HEAD announced", req("HEAD", "/hold", ""), length, []string{"abcd"}, nil, "idle", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"},
		{"204", req("GET", "/hold", ""), func(x *exchange.Exchange) { x.Status = 204 }, []string{"a"}, exchange.ErrNoBody, "idle", answer(204, "", "")},
		{"1.0", req10("GET", "/hold", keeps), nil, []string{"ab", "c"}, nil, "closed", "HTTP/1.0 200 OK\r\n\r\nabc"},
		{"large", req("GET", "/hold", ""), nil, []string{strings.Repeat("x", refBody+1)}, nil, "idle", chunkedHead + "8000\r\n" + strings.Repeat("x", refBody) + "\r\n1\r\nx\r\n0\r\n\r\n"},
		{"nothing", req("GET", "/hold", ""), nil, nil, nil, "idle", chunkedHead + "0\r\n\r\n"},
	}
	for _, c := range cases {
		m, err := run(c.in, c.change, c.parts...)
		if err != c.err {
			t.Errorf("%s: Send: %v, want %v", c.name, err, c.err)
		}
		m.want(c.state, c.want)
	}
}

// TestHeldContent skips content that has arrived, and closes the connection after an answer
// to a request that has not arrived completely.
func TestHeldContent(t *testing.T) {
	end := chunkedHead + "0\r\n\r\n"
	late := strings.Replace(end, "\r\n\r\n", "\r\n"+closes+"\r\n", 1)
	for _, c := range []struct {
		pieces      []string
		state, want string
	}{
		{[]string{req("POST", "/hold", "Content-Length: 3\r\n") + "abc" + behind}, "idle", end + answer(200, "", "hello")},
		{[]string{req("POST", "/hold", "Transfer-Encoding: chunked\r\n") + "1\r\na\r\n0\r\n\r\n" + behind}, "idle", end + answer(200, "", "hello")},
		{[]string{req("POST", "/hold", "Content-Length: 3\r\n") + "ab", "c" + behind}, "refused", late},
	} {
		handler, held := holding(nil)
		m := newMem(t, handler).send(c.pieces...)
		h := <-held
		h.Close()
		m.woken()
		m.want(c.state, c.want)
	}
	handler, held := holding(func(x *exchange.Exchange) {
		if body, err := readContent(x); body != "abc" || err != nil {
			t.Errorf("content %q, %v", body, err)
		}
	})
	m := newMem(t, handler).send(req("POST", "/hold", "Transfer-Encoding: chunked\r\n"), "3\r\nabc\r\n0\r\n\r\n"+behind)
	h := <-held
	h.Close()
	m.woken()
	m.want("idle", end+answer(200, "", "hello"))
}

// TestHeldDrain counts what the client has not taken, and tells when it has.
func TestHeldDrain(t *testing.T) {
	handler, held := holding(nil)
	m := newMem(t, handler).send(req("GET", "/hold", ""))
	h := <-held
	told := 0
	must(h.Send(make([]byte, 1000)))
	if n := h.Buffered(); n != 1000 {
		t.Errorf("%d bytes buffered", n)
	}
	m.woken()
	if n := h.Buffered(); n != 0 {
		t.Errorf("%d bytes buffered when all is sent", n)
	}
	h.OnDrain(0, func() { told++ })
	if told != 1 {
		t.Error("not told at once")
	}
	m.stuck = true
	must(h.Send(make([]byte, 1000)))
	h.OnDrain(0, func() { told++ })
	m.woken()
	if n := h.Buffered(); told != 1 || n < 1000 || n > 1020 {
		t.Errorf("told %d times with %d bytes buffered", told, n)
	}
	m.unstick()
	if n := h.Buffered(); told != 2 || n != 0 {
		t.Errorf("told %d times with %d bytes buffered", told, n)
	}
	m.stuck = true
	must(h.Send(make([]byte, 1000)))
	m.woken()
	h.OnDrain(0, func() { told++ })
	m.session.Closed(errLost)
	if h.Close(); told != 3 || h.Send([]byte("x")) != exchange.ErrGone {
		t.Errorf("told %d times when the client has gone", told)
	}
}

// TestHeldDeadline lets an answer rest that has nothing to send, and a client be
// slow, but not take nothing, however often something is sent.
func TestHeldDeadline(t *testing.T) {
	handler, held := holding(nil)
	m := newMem(t, handler).send(req("GET", "/hold", ""))
	h := <-held
	m.expire()
	if m.state() != "held" || m.due() != 0 {
		t.Fatalf("an answer that rests is %s, deadline %d", m.state(), m.due())
	}
	m.stuck = true
	must(h.Send(make([]byte, 1000)))
	m.woken()
	if m.due() != 2 {
		t.Errorf("deadline %d with output waiting", m.due())
	}
	m.pending.Discard(500)
	m.expire()
	if m.state() != "held" || m.due() != 2 {
		t.Errorf("a slow client is %s, deadline %d", m.state(), m.due())
	}
	at := m.deadline
	must(h.Send(make([]byte, 1000)))
	m.woken()
	if m.deadline.Sub(at).Abs() > time.Minute {
		t.Error("sending moves the deadline of a client that takes nothing")
	}
	m.expire()
	if m.state() != "cut" {
		t.Errorf("a client that takes nothing is %s", m.state())
	}
}

// TestHeldBursts gives a client that has taken everything the whole time for what comes next.
func TestHeldBursts(t *testing.T) {
	handler, held := holding(nil)
	m := newMem(t, handler).send(req("GET", "/hold", ""))
	h := <-held
	burst := func(parts int) {
		m.stuck = true
		for range parts { // the second one finds the first one waiting
			must(h.Send(make([]byte, 40_000)))
			m.woken()
		}
		if m.due() != 2 {
			t.Errorf("deadline %d with output waiting", m.due())
		}
	}
	burst(2)
	if m.unstick(); m.due() != 0 {
		t.Errorf("deadline %d when the client has taken a whole burst", m.due())
	}
	burst(1)
	m.unstick()
	burst(1)
	if m.expire(); m.state() != "held" { // this may be the time of the last burst
		t.Fatalf("a client that took a whole burst is %s", m.state())
	}
	if m.expire(); m.state() != "cut" {
		t.Errorf("a client that takes nothing is %s", m.state())
	}
}

// TestHeldEOF goes on when the client has closed its half, and closes at the end.
func TestHeldEOF(t *testing.T) {
	handler, held := holding(nil)
	m := newMem(t, handler).send(req("GET", "/hold", ""))
	h := <-held
	m.eof()
	must(h.Send([]byte("a")))
	h.Close()
	m.woken()
	m.want("closed", chunkedHead+"1\r\na\r\n0\r\n\r\n")
}

// TestHeldAbort delivers what was sent before, however late the client takes it, and
// ends the connection so that it does not look complete.
func TestHeldAbort(t *testing.T) {
	for name, k := range map[string]struct{ in, before, after, got string }{
		"chunked":             {req("GET", "/hold", ""), "closed", "closed", chunkedHead + "1\r\na\r\n"},
		"until the end":       {req10("GET", "/hold", ""), "held", "cut", "HTTP/1.0 200 OK\r\n\r\na"},
		"unread content left": {req("POST", "/hold", "Content-Length: 5\r\n") + "ab", "refused", "refused", strings.Replace(chunkedHead, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1) + "1\r\na\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			handler, held := holding(nil)
			m := newMem(t, handler)
			m.stuck = true
			m.send(k.in)
			h := <-held
			must(h.Send([]byte("a")))
			h.Abort()
			if err := h.Send([]byte("b")); err != exchange.ErrGone {
				t.Errorf("Send after Abort: %v", err)
			}
			m.woken()
			if m.want(k.before, ""); t.Failed() {
				return
			}
			m.unstick()
			m.want(k.after, k.got)
		})
	}
}

// TestHeldConcurrently sends from many goroutines at the same time.
func TestHeldConcurrently(t *testing.T) {
	handler, held := holding(nil)
	m := newMem(t, handler).send(req("GET", "/hold", ""))
	h := <-held
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := h.Send([]byte("x")); err != nil {
					t.Error(err)
				}
				h.OnDrain(h.Buffered(), func() {})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); h.Close(); close(done) }()
	for m.state() == "held" {
		m.woken()
	}
	<-done
	if n := strings.Count(m.answers(), "x"); n != 800 || m.state() != "idle" {
		t.Errorf("%d parts arrive, %s", n, m.state())
	}
}
