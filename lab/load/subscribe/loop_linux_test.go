package subscribe

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

// serveEach is a server that runs the script for each connection. All connections end with
// the test.
func serveEach(t *testing.T, script func(c net.Conn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				script(c)
			})
		}
	})
	t.Cleanup(func() {
		stop()
		_ = ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

// serveStreams is a server that runs the script for each connection, with its number and
// request. A script that returns ends its connection.
func serveStreams(t *testing.T, script func(c *net.TCPConn, n int64, r *http.Request)) (addr string) {
	t.Helper()
	var n atomic.Int64
	return serveEach(t, func(c net.Conn) {
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			script(c.(*net.TCPConn), n.Add(1), r)
		}
	})
}

// write sends text, and reports whether that succeeded.
func write(c net.Conn, text string) bool {
	_, err := c.Write([]byte(text))
	return err == nil
}

// loopOf returns a loop that ends with the test.
func loopOf(t *testing.T, o Options, rec Recorder) *Loop {
	t.Helper()
	o.Request, o.Timeout = []byte(get), time.Minute // slow machines must not cause timeouts
	if o.Config.Format == "" {
		o.Config.Format = spec.FormatEvents
	}
	l, err := New(t.Context(), &o, rec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// drive runs a loop until done returns true, for a minute at most.
func drive(t *testing.T, l *Loop, done func(*Counts) bool) {
	t.Helper()
	for !done(l.Counts()) {
		if l.Now() > int64(time.Minute) {
			t.Fatalf("not in time: %+v, %d standing", *l.Counts(), l.Standing())
		}
		if err := l.Until(l.Now() + int64(5*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
}

// The server ends its streams in all possible ways, and continues from Last-Event-ID: no
// event is missed, and every end is counted.
func TestLoop(t *testing.T) {
	const subscribers, each = 100, 200
	var closed, reset, ended, sent atomic.Uint64
	addr := serveStreams(t, func(c *net.TCPConn, n int64, r *http.Request) {
		from, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		if !write(c, chunked) {
			return
		}
		for id := from + 1; id <= each; id++ {
			sent.Add(1) // before the subscriber has it
			if !write(c, chunk(fmt.Sprintf("id: %d\ndata: %d\n\n", id, time.Now().UnixNano()))) {
				sent.Add(^uint64(0))
				return
			}
			if id%50 != 0 || id == each {
				continue
			}
			switch n % 3 {
			case 0:
				closed.Add(1)
				return
			case 1:
				ended.Add(1)
				write(c, "0\r\n\r\n")
				return
			default:
				// A reset may overtake bytes sent before it, so it is sent after the
				// subscriber's end has confirmed that all was read.
				reset.Add(1)
				_ = c.CloseWrite()
				_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
				_, _ = c.Read(make([]byte, 1))
				_ = c.SetLinger(0)
				return
			}
		}
		_, _ = c.Read(make([]byte, 1)) // until the subscriber closes
	})
	var rec taken
	l := loopOf(t, Options{
		Addr: addr, Subscribers: subscribers,
		Config: spec.Subscribe{Stamp: "@data", Unit: "ns", ID: "@id", Retry: 5 * time.Millisecond, Ends: true},
	}, &rec)
	l.Begin()
	drive(t, l, func(c *Counts) bool { return c.Events == subscribers*each })
	c, r := l.Counts(), spec.Subscribed{}
	l.Finish(&r)
	if c.Missed != 0 || c.Duplicated != 0 || c.Events != sent.Load() {
		t.Errorf("%d missed, %d duplicated, %d events of %d sent", c.Missed, c.Duplicated, c.Events, sent.Load())
	}
	if c.Ends != ended.Load() || c.Errors[Short] != closed.Load()+reset.Load() || c.Failures() != c.Errors[Short] {
		t.Errorf("%d ends, errors %v; the server ended %d, and closed %d and %d", c.Ends, c.ByKind(), ended.Load(), closed.Load(), reset.Load())
	}
	if c.Reconnects != c.Ends+c.Failures() || c.Connects != c.Reconnects+subscribers || l.Standing() != subscribers {
		t.Errorf("%d reconnects, %d connects, %d standing", c.Reconnects, c.Connects, l.Standing())
	}
	if r.Standing != subscribers || r.Lowest >= subscribers || r.Retired != 0 || r.Quiet != 0 {
		t.Errorf("result %+v", r)
	}
	if len(rec.gaps) != subscribers*(each-1) || len(rec.delays) != subscribers*each || len(rec.lags) == 0 {
		t.Errorf("%d gaps, %d delays, %d lags", len(rec.gaps), len(rec.delays), len(rec.lags))
	}
	for _, d := range rec.lags {
		if d < 0 {
			t.Fatalf("a lag of %v", d)
		}
	}
}

// A stream that never pauses does not prevent reads from the others.
func TestFirehose(t *testing.T) {
	block := chunk("data: " + string(make([]byte, 32<<10)) + "\n\n")
	addr := serveStreams(t, func(c *net.TCPConn, n int64, _ *http.Request) {
		for ok := write(c, chunked); ok; {
			if n == 1 {
				ok = write(c, block)
			} else {
				ok = write(c, chunk("data: 1\n\n"))
				time.Sleep(time.Millisecond)
			}
		}
	})
	l := loopOf(t, Options{Addr: addr, Subscribers: 10}, none{})
	drive(t, l, func(*Counts) bool {
		for i := range l.book.subs {
			if l.book.subs[i].sse.Events < 20 {
				return false
			}
		}
		return true
	})
	if n := l.Counts().Failures(); n != 0 || l.Standing() != 10 {
		t.Errorf("errors %v, %d standing", l.Counts().ByKind(), l.Standing())
	}
}

// A closed port, and a server that answers with status 204, end the run.
func TestHope(t *testing.T) {
	const closed = "127.0.0.1:1" // never an ephemeral port
	l := loopOf(t, Options{Addr: closed, Subscribers: 3, Config: spec.Subscribe{Retry: spec.NeverRetry}}, none{})
	drive(t, l, func(c *Counts) bool { return c.Retired == 3 })
	if err := l.Hope(); err == nil || l.Counts().Errors[Connect] != 3 {
		t.Errorf("hope: %v; errors %v", err, l.Counts().ByKind())
	}
	unwilling := serveStreams(t, func(c *net.TCPConn, _ int64, _ *http.Request) { write(c, "HTTP/1.1 204 No Content\r\n\r\n") })
	l = loopOf(t, Options{Addr: unwilling, Subscribers: 3}, none{})
	drive(t, l, func(c *Counts) bool { return c.Retired == 3 })
	if err := l.Hope(); err == nil || l.Counts().Failures() != 0 {
		t.Errorf("hope: %v; errors %v", err, l.Counts().ByKind())
	}
}
