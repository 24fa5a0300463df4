//go:build linux

package sockets_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// TestAbrupt closes connections at once, of which one waits for room, one for input and
// one runs: their sessions are told once, their waits end, and the client sees what
// had been sent and the end.
func TestAbrupt(t *testing.T) {
	for _, how := range []transport.Closing{transport.Abrupt, transport.Reset} {
		eachDriver(t, func(t *testing.T, d driver) {
			ready, ended := make(chan struct{}, 1), make(chan error, 1)
			addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
				if _, err := out.WriteString("begin"); err != nil {
					return 0, err
				}
				err := s.Flush(out, 0, nil)
				ready <- struct{}{}
				switch in[0] {
				case 'r':
					_, err = s.Read(make([]byte, 1), nil)
				case 'w':
					out.Ref(hog)
					err = s.Flush(out, 0, nil)
				case 'b':
					if s.Detach(); how == transport.Abrupt {
						s.lost <- <-s.lost // not before it is told
					} else {
						time.Sleep(10 * time.Millisecond)
					}
				}
				if _, e := s.Read(make([]byte, 1), nil); in[0] != 'b' && e != transport.ErrLost {
					t.Errorf("Read returns %v after the connection is closed", e)
				}
				ended <- err
				return len(in), nil
			}})
			for _, what := range []string{"read", "write", "block"} {
				c := open(t, addr)
				send(t, c, what)
				s := receive(t, made, "the session is there")
				want(t, c, "begin")
				receive(t, ready, "it waits")
				if what == "write" {
					time.Sleep(10 * time.Millisecond) // mostly
				}
				s.Close(how)
				if err := receive(t, ended, "its waits end"); what != "block" && err != transport.ErrLost {
					t.Errorf("%s: a wait ends with %v, want ErrLost", what, err)
				}
				if err := receive(t, s.closed, "the session is closed"); err != nil {
					t.Errorf("%s: Closed receives %v", what, err)
				}
				if n := len(s.lost); (n == 1) != (how == transport.Abrupt) {
					t.Errorf("%s: Lost is called %d times", what, n)
				}
				if _, err := io.Copy(io.Discard, c); (err == nil) != (how == transport.Abrupt) {
					t.Errorf("%s: the client reads to %v", what, err)
				}
				if s.Wake(func(*buf.Queue) error { return nil }) {
					t.Errorf("%s: Wake reports true", what)
				}
			}
		})
	}
}

// TestAbruptUnread closes connections at once whose client is still sending: it sees
// what it was sent, and the end.
func TestAbruptUnread(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			s.Pause(true)
			_, err := out.WriteString("paused")
			return len(in), err
		}})
		c := open(t, addr)
		send(t, c, "x")
		want(t, c, "paused")
		send(t, c, "nobody reads this")
		s := receive(t, made, "the session is there")
		s.Wake(func(out *buf.Queue) error {
			_, err := out.WriteString("last")
			return err
		})
		s.Wake(func(out *buf.Queue) error {
			s.Close(transport.Abrupt)
			_, err := out.WriteString("too late")
			return err
		})
		want(t, c, "last")
		if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
			t.Errorf("the client reads %q, %v, want the end", b, err)
		}
		receive(t, s.closed, "the session is closed")
	})
}

// TestEachBusy visits the sessions that are not being fed, however often, while one is.
func TestEachBusy(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		release, busy := make(chan struct{}), make(chan struct{})
		inner := d.create
		var tr transport.Transport
		d.create = func(c transport.Config) (_ transport.Transport, err error) {
			tr, err = inner(c)
			return tr, err
		}
		addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			s.Detach()
			close(busy)
			<-release
			_, err := out.WriteString("done")
			return len(in), err
		}})
		c, other := open(t, addr), open(t, addr)
		fed, idle := receive(t, made, "a session is there"), receive(t, made, "the other one is there")
		if fed.RemoteAddr().String() != c.LocalAddr().String() {
			fed, idle = idle, fed
		}
		send(t, c, "x")
		receive(t, busy, "Feed runs")
		for range 1000 {
			visits := 0
			tr.Each(func(s transport.Session, _ *buf.Queue) error {
				if s != transport.Session(idle) {
					t.Error("a session is visited that is being fed")
				}
				visits++
				return nil
			}, nil)
			if visits != 1 {
				t.Fatalf("%d visits, want 1", visits)
			}
		}
		close(release)
		want(t, c, "done")
		other.Close()
		receive(t, idle.closed, "the session is closed")
	})
}

// TestLostAfterPieces has the client leave while a Feed blocks whose input came in
// pieces, after one that has read from the socket itself, and has kept its loop.
func TestLostAfterPieces(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		release, blocked, begun, sent := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		addr, made := script(t, d, transport.Config{Takeover: time.Hour}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			switch {
			case in[0] == 'r':
				close(begun)
				<-sent
				time.Sleep(time.Millisecond)
				p := make([]byte, 1)
				if _, err := s.Read(p, nil); err != nil {
					return 0, err
				}
				_, err := out.WriteString("read")
				return len(in), err
			case len(in) < 2:
				_, err := out.WriteString("more")
				return 0, err
			}
			s.Detach()
			close(blocked)
			<-release
			return len(in), nil
		}})
		c := open(t, addr)
		send(t, c, "r")
		s := receive(t, made, "the session is there")
		receive(t, begun, "Feed runs")
		send(t, c, "x")
		close(sent)
		want(t, c, "read")
		send(t, c, "1")
		want(t, c, "more")
		send(t, c, "2")
		receive(t, blocked, "Feed runs")
		c.Close()
		receive(t, s.lost, "Lost is told")
		close(release)
		receive(t, s.closed, "the session is closed")
	})
}

// TestInProcess is for the race detector: a handler and a client of package net in one
// process are ordered by what they send each other, as with net/http.
func TestInProcess(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		asked, answered := 0, 0
		addr, _ := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			var err error
			answered = asked
			switch in[0] {
			case 'f':
				_, err = out.WriteString("answ")
				if err == nil {
					err = s.Flush(out, 0, nil)
				}
				_, _ = out.WriteString("er") // it never fails
			case 'r':
				_, err = out.WriteString("answer")
				if err == nil {
					err = s.Flush(out, 0, nil)
				}
				if err == nil {
					_, err = s.Read(make([]byte, 1), nil)
				}
				answered = asked
				_, _ = out.WriteString("answer")
			case 'l':
				out.Ref(long)
			default:
				_, err = out.WriteString("answer")
			}
			return len(in), err
		}})
		c := open(t, addr)
		ask := func(what, answer string) {
			asked++
			send(t, c, what)
			want(t, c, answer)
			if answered != asked {
				t.Errorf("%q: the handler has seen %d, want %d", what, answered, asked)
			}
		}
		for range 3 {
			ask("flush", "answer")
			ask("read", "answer")
			ask("x", "answer") // of what reads
			ask("plain", "answer")
			ask("long", string(long))
		}
	})
}

// long is more than is sent in a batch.
var long = bytes.Repeat([]byte("long"), 10<<10)
