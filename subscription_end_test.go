package redline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// subscribing serves one path whose handler subscribes.
func subscribing(t *testing.T, s *redline.Server) (*running, <-chan *pushing) {
	t.Helper()
	subs := make(chan *pushing, 1)
	a := newAudience(t)
	s.Native = func(c *redline.Ctx) {
		if c.Path() != "/events" {
			c.Text(200, c.Path())
			return
		}
		subs <- a.add(newPushing(t), c.Subscribe)
	}
	return serve(t, s), subs
}

// wantGone waits for Gone.
func (p *pushing) wantGone(want error) {
	p.t.Helper()
	if err := receive(p.t, p.gone, "Gone is called"); !errors.Is(err, want) {
		p.t.Errorf("Gone(%v), want %v", err, want)
	}
	if p.sub.Wake() {
		p.t.Error("Wake reports true after Gone")
	}
	p.sub.Close()
	p.sub.Abort()
}

// TestSubscriptionKinds wants each kind of answer framed as it has to be.
func TestSubscriptionKinds(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	for _, k := range []struct {
		name, request string
		setup         func(*redline.Ctx)
		body          string
		closes        bool // the connection ends with the answer
	}{
		{"chunked", get, func(*redline.Ctx) {}, "onetwo", false},
		{"close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", func(*redline.Ctx) {}, "onetwo", true},
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", func(*redline.Ctx) {}, "onetwo", true},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", func(*redline.Ctx) {}, "", false},
		{"no content", get, func(c *redline.Ctx) { c.Status(204) }, "", false},
		{"length", get, func(c *redline.Ctx) { c.SetContentLength(6) }, "onetwo", false},
		{"unread body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", func(*redline.Ctx) {}, "onetwo", false},
		{"written before", get, func(c *redline.Ctx) { c.WriteString("zero") }, "zeroonetwo", false},
		{"detached", get, func(c *redline.Ctx) { c.Detach() }, "onetwo", false},
	} {
		t.Run(k.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				subs := make(chan *pushing, 1)
				a := newAudience(t)
				r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
					if c.Path() == "/next" {
						c.Text(200, "next")
						return
					}
					k.setup(c)
					subs <- a.add(newPushing(t), c.Subscribe)
				}})
				c := r.dial()
				c.send("%s", k.request)
				p := receive(t, subs, "the handler has subscribed")
				method, _, _ := strings.Cut(k.request, " ")
				resp := c.responseTo(method)
				p.add(redline.NewFrame([]byte("one")), redline.NewFrame(nil), redline.NewFrame([]byte("two")))
				p.end()
				p.sub.Wake() // false if there is no body
				if body, err := io.ReadAll(resp.Body); err != nil || string(body) != k.body {
					t.Errorf("%q, %v, want %q", body, err, k.body)
				}
				p.wantGone(nil)
				if k.closes {
					c.wantGone()
					return
				}
				c.want("/next", "next")
			})
		})
	}
}

// TestSubscriptionEnds ends subscriptions in every way.
func TestSubscriptionEnds(t *testing.T) {
	whole := func(c *client) { c.want("/next", "/next") }
	for _, k := range []struct {
		name string
		end  func(*running, *client, *pushing)
		gone error
		cut  bool // the client sees that the body is incomplete
		then func(*client)
	}{
		{"Close", func(_ *running, _ *client, p *pushing) { p.sub.Close(); p.sub.Abort() }, nil, false, whole},
		{"Abort", func(_ *running, _ *client, p *pushing) { p.sub.Abort(); p.sub.Close() }, redline.ErrAbort, true, nil},
		{"panic of Turn", func(_ *running, _ *client, p *pushing) { p.set(&p.panics); p.sub.Wake() }, redline.ErrAbort, true, nil},
		{"client closes", func(_ *running, c *client, _ *pushing) { c.Close() }, redline.ErrGone, true, nil},
		{"client resets", func(_ *running, c *client, _ *pushing) { c.reset() }, redline.ErrGone, true, nil},
		{"client closes one half", func(_ *running, c *client, _ *pushing) {
			_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			_ = c.tcp().CloseWrite()
		}, redline.ErrGone, true, nil},
		{"server closes", func(r *running, _ *client, _ *pushing) { r.Close() }, redline.ErrServerClosed, true, nil},
	} {
		t.Run(k.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				r, subs := subscribing(t, &redline.Server{Transport: transport})
				c := r.dial()
				c.ask("/events")
				p := receive(t, subs, "the handler has subscribed")
				resp := c.response()
				p.add(redline.NewFrame([]byte("one ")))
				p.sub.Wake()
				if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
					t.Fatal(err)
				}
				k.end(r, c, p)
				p.wantGone(k.gone)
				if b, err := io.ReadAll(resp.Body); len(b) > 0 || (err != nil) != k.cut {
					t.Errorf("client reads %q, %v", b, err)
				}
				if k.then != nil {
					k.then(c)
				}
			})
		})
	}
}

// TestSubscriptionNotOpened has handlers that do not return as they should.
func TestSubscriptionNotOpened(t *testing.T) {
	for _, k := range []struct {
		name string
		gone error
		end  func(c *redline.Ctx)
	}{
		{"panic", redline.ErrAbort, func(*redline.Ctx) { panic("on purpose") }},
		{"abort", redline.ErrAbort, func(*redline.Ctx) { panic(redline.ErrAbort) }},
		{"hijack", redline.ErrHijacked, func(c *redline.Ctx) {
			if nc, err := c.Hijack(); err == nil {
				nc.Close()
			}
		}},
		{"announced length", redline.ErrLength, func(c *redline.Ctx) { c.SetContentLength(10); _ = c.Flush() }},
	} {
		t.Run(k.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				subs := make(chan *pushing, 1)
				a := newAudience(t)
				r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
					if k.name == "announced length" {
						k.end(c)
					}
					subs <- a.add(newPushing(t), c.Subscribe)
					k.end(c)
				}})
				c := r.dial()
				c.ask("/")
				receive(t, subs, "the handler has subscribed").wantGone(k.gone)
				_, _ = io.ReadAll(c.r)
			})
		})
	}
}

// TestSubscriptionSlow has a client that reads nothing: frames are refused beyond the buffer,
// and the client is cut off when its time has passed.
func TestSubscriptionSlow(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, subs := subscribing(t, &redline.Server{Transport: transport, StallTimeout: 300 * time.Millisecond})
		c := r.dial()
		if err := c.tcp().SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		c.ask("/events")
		p := receive(t, subs, "the handler has subscribed")
		f := redline.NewFrame(make([]byte, 60<<10))
		for range 1000 {
			p.add(f)
		}
		p.sub.Wake()
		p.wantGone(redline.ErrTimeout)
		if left := p.left(); left == 0 || left == 1000 {
			t.Errorf("%d frames of 1000 were not taken", left)
		}
	})
}

// TestSubscriptionRoom has a client that reads late: everything arrives, and no more than the
// buffer is unsent at any time.
func TestSubscriptionRoom(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, size := range []int{10, 3000, 100 << 10} {
			const most = 8 << 10
			r, subs := subscribing(t, &redline.Server{Transport: transport, WriteBuffer: most})
			c := r.dial()
			c.ask("/events", "/next")
			p := receive(t, subs, "the handler has subscribed")
			p.bound = max(most, size)
			f := redline.NewFrame([]byte(strings.Repeat("x", size)))
			n := 8<<20/size/10 + 10
			for range n {
				p.add(f)
			}
			p.end()
			p.sub.Wake()
			if k, err := io.Copy(io.Discard, c.response().Body); err != nil || k != int64(n*size) {
				t.Errorf("client reads %d bytes, %v, want %d", k, err, n*size)
			}
			p.wantGone(nil)
			if status, body := c.answer(); status != 200 || body != "/next" {
				t.Errorf("behind the subscription: %d %q", status, body)
			}
		}
	})
}

// TestSubscriptionMisuse wants clear panics.
func TestSubscriptionMisuse(t *testing.T) {
	wantPanic := func(t *testing.T, text string, f func()) {
		t.Helper()
		defer func() {
			if p := recover(); !strings.Contains(fmt.Sprint(p), text) {
				t.Errorf("panic %v, want %q", p, text)
			}
		}()
		f()
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		k := &keeper{gone: make(chan error, 1)}
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			s := c.Subscribe(k)
			wantPanic(t, "only once", func() { c.Subscribe(&keeper{}) })
			wantPanic(t, "only once", func() { c.Stream(func(*redline.Stream) {}) })
			s.Close()
			s.Close()
		}})
		c := r.dial()
		c.ask("/")
		if err := receive(t, k.gone, "Gone is called"); err != nil || k.turn != nil {
			t.Errorf("closed before its first turn: %v, %v", err, k.turn)
		}
	})
	k := &keeper{gone: make(chan error, 1)}
	r := serve(t, &redline.Server{Native: func(c *redline.Ctx) { c.Subscribe(k) }})
	r.dial().ask("/")
	if err := receive(t, k.gone, "Gone is called"); err != nil {
		t.Error(err)
	}
	wantPanic(t, "after Subscriber.Turn has returned", func() { k.turn.Write([]byte("x")) })
	wantPanic(t, "after Subscriber.Turn has returned", func() { k.turn.Close() })
}

// A keeper keeps its turn, and ends with it.
type keeper struct {
	turn *redline.Turn
	gone chan error
}

func (k *keeper) Turn(t *redline.Turn) {
	k.turn = t
	t.Close()
}

func (k *keeper) Gone(err error) { k.gone <- err }

// TestSubscriptionShutdown has Shutdown wait for a subscription, which ends when the server
// stops.
func TestSubscriptionShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, subs := subscribing(t, &redline.Server{Transport: transport})
		c := r.dial()
		c.ask("/events")
		p := receive(t, subs, "the handler has subscribed")
		done := make(chan error, 1)
		go func() { done <- r.Shutdown(context.Background()) }()
		<-r.Stopping()
		p.add(redline.NewFrame([]byte("bye")))
		p.end()
		p.sub.Wake()
		if status, body := c.answer(); status != 200 || body != "bye" {
			t.Errorf("%d %q", status, body)
		}
		p.wantGone(nil)
		c.wantGone()
		if err := receive(t, done, "Shutdown returns"); err != nil {
			t.Error(err)
		}
	})
}

// TestSubscribeHandlers subscribes from handlers of net/http, also behind other writers.
func TestSubscribeHandlers(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		subs := make(chan *pushing, 1)
		a := newAudience(t)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/next" {
				fmt.Fprint(w, "next")
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			if r.URL.Path == "/wrapped" {
				w = wrapped{w}
			}
			subs <- a.add(newPushing(t), func(s redline.Subscriber) *redline.Subscription {
				sub, err := redline.Subscribe(w, s)
				if err != nil {
					t.Error(err)
				}
				return sub
			})
			fmt.Fprint(w, "zero ")
		})
		r := serve(t, &redline.Server{Transport: transport, Handler: h})
		c := r.dial()
		for _, path := range []string{"/direct", "/wrapped"} {
			c.ask(path)
			p := receive(t, subs, "the handler has subscribed")
			p.add(redline.NewFrame([]byte("one")))
			p.end()
			p.sub.Wake()
			resp := c.response()
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "zero one" || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%q, %v, %v", b, err, resp.Header)
			}
			p.wantGone(nil)
			c.want("/next", "next")
		}
	})
	if _, err := redline.Subscribe(httptest.NewRecorder(), newPushing(t)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another server's writer: %v", err)
	}
}

type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestSubscribeElsewhere runs a native handler that subscribes under net/http's server.
func TestSubscribeElsewhere(t *testing.T) {
	noLeaks(t)
	a := newAudience(t)
	subs := make(chan *pushing, 1)
	server := httptest.NewServer(redline.HandlerFunc(func(c *redline.Ctx) { subs <- a.add(newPushing(t), c.Subscribe) }))
	defer server.Close()
	for _, how := range []string{"end", "abort", "leave"} {
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		req, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		noError(t, err)
		resp, err := server.Client().Do(req)
		noError(t, err)
		p := receive(t, subs, "the handler has subscribed")
		a.publish("one ")
		if b := make([]byte, 4); second(io.ReadFull(resp.Body, b)) != nil || string(b) != "one " {
			t.Errorf("%q", b)
		}
		switch how {
		case "end":
			p.add(redline.NewFrame([]byte("two")))
			p.end()
			p.sub.Wake()
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "two" {
				t.Errorf("%q, %v", b, err)
			}
			p.wantGone(nil)
		case "abort":
			p.sub.Abort()
			if b, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("an aborted answer looks complete: %q", b)
			}
			p.wantGone(redline.ErrAbort)
		case "leave":
			leave()
			p.wantGone(redline.ErrGone)
		}
		resp.Body.Close()
	}
}
