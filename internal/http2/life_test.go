package http2

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
)

// closed reports whether the connection has ended.
func (p *peer) closed() bool {
	closed, _ := p.f.Closed()
	return closed
}

// TestIdle keeps a connection without exchanges for IdleTimeout, not StallTimeout; PING does
// not extend it.
func TestIdle(t *testing.T) {
	p := newPeer(t, 11, routes{}) // stall after 2 h, idle after 4 h
	p.get(1, "/").want(1, "200", "ok")
	p.run().f.Advance(3 * time.Hour)
	p.run()
	if len(p.gone) > 0 {
		t.Fatalf("an idle connection ends too early: %v", p.gone)
	}
	p.alive(3)
	p.s.mu.Lock()
	p.s.idleSince -= int64(5 * time.Hour)
	p.s.mu.Unlock()
	p.frame(framePing, 0, 0, make([]byte, 8)).run()
	p.f.Advance(3 * time.Hour) // the time for the answer to be accepted may be running
	p.wantGone(NoError)
}

// TestPace keeps clients that make progress, and ends those that do not.
func TestPace(t *testing.T) {
	p := newPeer(t, 12, handlers)
	p.run()
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var out buf.Queue
	defer out.Release()
	s.enter(&out)
	defer func() { s.out = nil }()
	s.stall = stall{running: true, taken: s.taken(), left: 1 << 20}
	s.written += paceBytes + 1<<20 // the client takes a part, and more is added
	out.Write(make([]byte, 1<<20))
	if s.overdue() {
		t.Error("a client that accepts output while more is added counts as stalled")
	}
	st := &stream{state: state{s: s, send: 1}}
	l := &st.writeLimit
	l.idle = 3 * time.Hour
	if d := st.patience(l); d >= 0 {
		t.Errorf("a stream that waits for long may wait for %v", d)
	}
	s.paces++ // others were sent meanwhile
	if st.excuse(); st.patience(l) < time.Hour {
		t.Error("a stream whose turn has not come counts as stalled")
	}
	l.idle = 3 * time.Hour
	s.paces++
	if st.send = 0; st.patience(l) >= 0 {
		t.Error("a stream whose window is closed does not count as stalled")
	}
	if st.excuse(); st.patience(l) >= 0 {
		t.Error("other streams excuse a closed window")
	}
}

// TestProgressWithinWait does not count time before progress that was made during a wait.
func TestProgressWithinWait(t *testing.T) {
	s := &Session{cfg: &exchange.Config{StallTimeout: time.Hour}}
	st := &stream{state: state{s: s}}
	began := make(chan struct{})
	go func() {
		s.mu.Lock()
		close(began)
		_ = st.wait(&st.readLimit)
		s.mu.Unlock()
	}()
	<-began
	s.mu.Lock()
	time.Sleep(10 * time.Millisecond)
	st.readLimit.progress(paceContent, paceContent)
	since := st.readLimit.since
	st.notify()
	s.mu.Unlock()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
		s.mu.Lock()
		idle := st.readLimit.idle
		s.mu.Unlock()
		if idle > 0 {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if since == 0 || st.readLimit.came != 0 {
		t.Errorf("since %d, came %d", since, st.readLimit.came)
	}
}

// TestServerTimeouts bounds content and response by ReadTimeout and WriteTimeout.
func TestServerTimeouts(t *testing.T) {
	got := make(chan error, 2)
	h := routes{
		"/read": func(x *exchange.Exchange) {
			_, err := content(x)
			got <- err
		},
		"/write": func(x *exchange.Exchange) { got <- x.Session.SendBody(x, []byte(large)) },
	}
	p := newPeer(t, 13, h, func(cfg *exchange.Config) { cfg.ReadTimeout = soon })
	p.headers(1, false, request("POST", "/read")...)
	p.whole(1)
	if err := <-got; !errors.Is(err, exchange.ErrTimeout) {
		t.Errorf("read: %v", err)
	}
	p.close()
	p = newPeer(t, 13, h, func(cfg *exchange.Config) { cfg.WriteTimeout = soon })
	p.get(1, "/write")
	p.wait("the write ends", func() bool { return len(got) > 0 })
	if err := <-got; !errors.Is(err, exchange.ErrTimeout) {
		t.Errorf("write: %v", err)
	}
	p.wantReset(1, InternalError)
	p.close()
}

// TestWaitersEnd ends handlers that wait, however the connection ends.
func TestWaitersEnd(t *testing.T) {
	for name, end := range map[string]func(p *peer){
		"end of stream": func(p *peer) { p.f.End() },
		"reset":         func(p *peer) { p.f.Reset() },
		"error":         func(p *peer) { p.data(0, false, "x") },
		"RST_STREAM":    func(p *peer) { p.word(frameReset, 1, 8).word(frameReset, 3, 8).word(frameReset, 5, 8) },
		"CloseConn":     func(p *peer) { p.s.CloseConn() },
	} {
		for seed := range uint64(8) {
			var all sync.WaitGroup
			gone := make(chan struct{}, 3)
			begin := func(x *exchange.Exchange) {
				all.Add(1)
				x.Session.OnGone(func() { gone <- struct{}{} })
			}
			p := newPeer(t, seed, routes{
				"/read": func(x *exchange.Exchange) {
					begin(x)
					_, _ = content(x)
					all.Done()
				},
				"/write": func(x *exchange.Exchange) {
					begin(x)
					_ = x.Session.SendBody(x, []byte(large))
					all.Done()
				},
				"/hold": func(x *exchange.Exchange) {
					begin(x)
					x.Session.Hold(x, func(h exchange.Held) {
						_ = h.Send([]byte(large))
						h.OnDrain(0, func() {
							h.Close()
							all.Done()
						})
					})
				},
			})
			p.headers(1, false, request("POST", "/read")...).get(3, "/write").get(5, "/hold")
			p.wait("the handlers wait", func() bool {
				return len(p.reply(3).body)+len(p.reply(5).body) == defaultWindow && p.reply(5).status != ""
			})
			end(p)
			done := make(chan struct{})
			go func() {
				all.Wait()
				close(done)
			}()
			p.wait(name+": handlers have returned", func() bool {
				select {
				case <-done:
					return true
				default:
					return false
				}
			})
			p.close()
		}
	}
}

// TestEndAfterAll lets a client that has received everything leave, before the goroutine that sent
// it, and waits for that, runs again: it is told that the client has gone only if it has more to send.
func TestEndAfterAll(t *testing.T) {
	for name, leave := range map[string]func(p *peer){
		"RST_STREAM": func(p *peer) { p.word(frameReset, 1, uint32(Cancel)) },
		"reset":      func(p *peer) { p.f.Reset() },
	} {
		for seed := range uint64(8) {
			more, want := "", error(nil)
			if seed%2 > 0 {
				more, want = "more", exchange.ErrGone
			}
			var mu sync.Mutex // others use what the handler uses
			sent, gone := make(chan error, 1), make(chan struct{})
			p := newPeer(t, seed, routes{"/": func(x *exchange.Exchange) {
				x.Session.OnGone(func() { close(gone) })
				mu.Lock()
				defer mu.Unlock()
				x.Session.Share(&mu)
				x.Response.Static = []byte(large)
				sent <- x.Session.SendBody(x, []byte(more))
			}})
			p.get(1, "/")
			p.wait("the handler waits", func() bool { return len(p.reply(1).body) == defaultWindow })
			mu.Lock()
			p.word(frameWindowUpdate, 0, uint32(len(large))).word(frameWindowUpdate, 1, uint32(len(large)))
			p.wait("everything is sent", func() bool { return len(p.reply(1).body) == len(large) })
			leave(p)
			p.f.Run()
			<-gone
			mu.Unlock()
			if err := <-sent; err != want {
				t.Errorf("%s: SendBody returns %v, want %v", name, err, want)
			}
			p.close()
		}
	}
}

// TestStalledConsumer sends small pieces after a response that has filled the output: they
// are sent without another event.
func TestStalledConsumer(t *testing.T) {
	for seed := range uint64(15) {
		next := make(chan string)
		p := newPeer(t, seed, routes{
			"/events": func(x *exchange.Exchange) {
				x.Session.Detach()
				for text := range next {
					x.Body = append(x.Body, text...)
					if x.Session.Flush(x) != nil {
						return
					}
				}
			},
			"/full": func(x *exchange.Exchange) { x.Static = []byte(strings.Repeat("x", 64<<10-1)) },
		})
		p.word(frameWindowUpdate, 0, 1<<30)
		p.get(1, "/events")
		for i := range uint32(5) {
			p.get(3+2*i, "/full").whole(3 + 2*i)
			next <- "event"
			want := int(i+1) * len("event")
			p.wait("the event has come", func() bool { return len(p.reply(1).body) == want })
		}
		close(next)
		p.whole(1)
		p.close()
	}
}

// TestExit ends only its stream if a handler ends its goroutine.
func TestExit(t *testing.T) {
	for seed := range uint64(8) {
		p := newPeer(t, seed, routes{
			"/exit": func(*exchange.Exchange) { runtime.Goexit() },
			"/slow": handlers["/slow"],
		})
		p.word(frameWindowUpdate, 0, 1<<30)
		p.get(1, "/slow").word(frameWindowUpdate, 1, 1<<30)
		p.get(3, "/exit").wantReset(3, InternalError)
		p.want(1, "200", large)
		p.alive(5)
		p.close()
	}
}

// TestGoingAway tells the client in two steps which streams are the last.
func TestGoingAway(t *testing.T) {
	release, running := make(chan struct{}), make(chan int, 10)
	p := newPeer(t, 14, blocking(release, running))
	p.get(1, "/wait")
	p.wait("the handler runs", func() bool { return len(running) == 1 })
	quit := func() { p.s.conn.Wake(func(out *buf.Queue) error { return p.s.Quit(false, out) }) }
	quit()
	p.wait("GOAWAY comes", func() bool { return len(p.gone) == 1 })
	p.alive(3) // was in transit
	quit()
	p.wait("GOAWAY comes again", func() bool { return len(p.gone) == 2 })
	p.headers(5, false, request("POST", "/wait")...).data(5, false, "ignored").run()
	if p.reply(5).status != "" || p.reply(5).reset {
		t.Errorf("stream 5 is answered: %+v", p.reply(5))
	}
	close(release)
	p.want(1, "200", "")
	p.wait("the connection ends for the handlers", p.closed)
	if want := []goneAway{{maxWindow, NoError}, {3, NoError}}; len(p.gone) != 2 || p.gone[0] != want[0] || p.gone[1] != want[1] {
		t.Errorf("GOAWAY %v, want %v", p.gone, want)
	}
}

// TestQuitWithoutStream ends a connection whose client has opened no stream, but not before it has
// greeted: GOAWAY tells it which requests it may repeat.
func TestQuitWithoutStream(t *testing.T) {
	quit := func(p *peer) {
		p.s.conn.Wake(func(out *buf.Queue) error { return p.s.Quit(false, out) })
		p.run()
	}
	p := newPeer(t, 15, routes{})
	quit(p.run())
	p.wantGone(NoError)
	if want := (goneAway{0, NoError}); p.gone[0] != want {
		t.Errorf("GOAWAY %v, want %v", p.gone, want)
	}
	s := plainSession(routes{})
	var out buf.Queue
	if err := s.Quit(false, &out); err != nil || out.Len() > 0 {
		t.Errorf("a client that has sent nothing: %v, %d bytes", err, out.Len())
	}
}

// TestConnectionClose tells the client with the head of the response that the connection ends, not when
// the response does.
func TestConnectionClose(t *testing.T) {
	for _, seed := range []uint64{16, 17, 18} {
		release := make(chan struct{})
		p := newPeer(t, seed, routes{"/close": func(x *exchange.Exchange) {
			x.Lines = append(x.Lines, exchange.Line{Name: "Connection", Value: "close"})
			x.Body = append(x.Body, "part"...)
			_ = x.Session.Flush(x)
			<-release
			x.Body = append(x.Body, ", rest"...)
		}})
		p.get(1, "/close")
		p.wait("GOAWAY comes", func() bool { return len(p.gone) > 0 })
		p.get(3, "/ok").run()
		close(release)
		p.want(1, "200", "part, rest")
		p.wantGone(NoError)
		if r := p.reply(3); p.gone[0] != (goneAway{1, NoError}) || len(p.gone) > 1 || r.status != "" || r.reset {
			t.Errorf("GOAWAY %v, and for the next request %+v", p.gone, r)
		}
	}
}
