package redline_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A counting listener is somebody's own, which notes what is done with it.
type counting struct {
	*wrapping
	mu     sync.Mutex
	closes int
	bounds int // of its Accept, before it was closed
}

func newCounting(t *testing.T) *counting {
	return &counting{wrapping: &wrapping{TCPListener: loopback(t), fail: make(chan error, 1)}}
}

func (l *counting) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closes++
	return l.wrapping.Close()
}

func (l *counting) SetDeadline(at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closes == 0 {
		l.bounds++
	}
	return l.wrapping.SetDeadline(at)
}

func (l *counting) seen() (closes, bounds int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closes, l.bounds
}

// TestGivenClosedOnce gives listeners to servers that end in every way. Each is
// closed when Serve has returned, by one call.
func TestGivenClosedOnce(t *testing.T) {
	for name, end := range map[string]func(r *running, l *counting) error{
		"Shutdown": func(r *running, _ *counting) error { return r.shutdown(patience) },
		"Close":    func(r *running, _ *counting) error { return r.Close() },
		"Accept": func(r *running, l *counting) error {
			until(r.t, "the next Accept has begun", func() bool { return l.asked.Load() == 2 })
			l.fail <- errors.New("broken")
			r.dial().Close() // it ends the Accept that has begun
			return nil
		},
		"both": func(r *running, _ *counting) error { return errors.Join(r.shutdown(patience), r.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			l := newCounting(t)
			r := prepare(t, &redline.Server{Native: text("x")})
			r.addr = l.Addr()
			go func() { r.served <- r.Serve(l) }()
			c := r.dial()
			c.want("/", "x")
			c.Close()
			if err := end(r, l); err != nil {
				t.Error(err)
			}
			err := receive(t, r.served, "Serve returns")
			if closes, _ := l.seen(); closes != 1 {
				t.Errorf("the listener is closed %d times when Serve has returned %v", closes, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if closes, bounds := l.seen(); closes != 1 || name == "Shutdown" && bounds == 0 {
				t.Errorf("the listener is closed %d times, and %d times its Accept was bounded before, for what waits", closes, bounds)
			}
		})
	}
	l := newCounting(t)
	refuses := &redline.Server{Transport: "pigeon", Native: text("x")}
	if err := refuses.Serve(l); err == nil {
		t.Error("an unknown transport serves")
	}
	if closes, _ := l.seen(); closes != 1 {
		t.Errorf("a listener that Serve could not serve on is closed %d times", closes)
	}
	l = newCounting(t)
	if err := refuses.Adopt(l); err == nil {
		t.Error("an unknown transport adopts")
	}
	if closes, _ := l.seen(); closes != 0 {
		t.Errorf("a listener that Adopt could not take is closed %d times", closes)
	}
}

// isOurs reports whether a server of these tests answers on a connection, and closes it: a port that
// was closed may be another process's in no time.
func isOurs(c *client) bool {
	defer c.Close()
	if _, err := io.WriteString(c.Conn, getHead+"\r\n"); err != nil {
		return false
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return false
	}
	b, err := io.ReadAll(resp.Body)
	return err == nil && string(b) == "x"
}

// TestOnShutdown calls what was registered when nobody can connect any more, also
// where the server has not run, or not even listened.
func TestOnShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Loops: 2, Native: text("x")})
		r.dial().want("/", "x")
		const tries = 20
		refused := make(chan int, 1)
		r.RegisterOnShutdown(func() {
			n := 0
			for range tries {
				c, err := r.tryDial()
				if err != nil || !isOurs(bounded(t, c, time.Now())) {
					n++
				}
			}
			refused <- n
		})
		if err := r.shutdown(patience); err != nil {
			t.Error(err)
		}
		if n := receive(t, refused, "it is called"); n != tries {
			t.Errorf("%d of %d connections are refused", n, tries)
		}
		for _, listens := range []bool{true, false} {
			s := &redline.Server{Transport: transport, Native: text("x")}
			called := make(chan bool, 1)
			s.RegisterOnShutdown(func() { called <- true })
			if listens {
				_, err := s.Listen("127.0.0.1:0")
				noError(t, err)
			}
			noError(t, s.Shutdown(t.Context()))
			receive(t, called, "it is called without a Run")
			if _, err := s.Listen("127.0.0.1:0"); !errors.Is(err, redline.ErrServerClosed) {
				t.Errorf("Listen after Shutdown: %v", err)
			}
		}
	}, overTLS)
}

// TestShutdownFresh serves a client that was accepted before Shutdown began and asks
// some seconds later, as net/http does.
func TestShutdownFresh(t *testing.T) {
	noLeaks(t)
	type fresh struct {
		c    *client
		down chan error
	}
	var all []fresh
	for _, transport := range transports() {
		r := serve(t, &redline.Server{Transport: transport, Native: text("x")})
		f := fresh{r.dial(), make(chan error, 1)}
		until(t, "it is accepted", func() bool { return r.Stats().Open == 1 })
		all = append(all, f)
		stopping := r.Stopping()
		go func() { f.down <- r.shutdown(patience) }()
		receive(t, stopping, "Stopping is told")
	}
	began := time.Now() // of the last
	time.Sleep(3 * time.Second)
	for _, f := range all {
		f.c.wantServed("/", "x", began)
		f.c.wantGone()
		if err := receive(t, f.down, "Shutdown returns"); err != nil {
			t.Error(err)
		}
	}
}
