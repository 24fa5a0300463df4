package redline_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A streamed is a subscription over HTTP/2, with its client.
type streamed struct {
	*pushing
	body  io.ReadCloser
	leave context.CancelFunc
}

// subscribeAll opens subscriptions over one connection.
func subscribeAll(t *testing.T, r *running, subs <-chan *pushing, n int) (all []streamed) {
	t.Helper()
	client := http2Client(t)
	for range n {
		ctx, leave := context.WithCancel(context.Background())
		t.Cleanup(leave)
		req, err := http.NewRequestWithContext(ctx, "GET", r.url()+"/events", nil)
		noError(t, err)
		resp, err := client.Do(req)
		noError(t, err)
		t.Cleanup(func() { resp.Body.Close() })
		if resp.ProtoMajor != 2 {
			t.Fatalf("protocol is %s", resp.Proto)
		}
		all = append(all, streamed{receive(t, subs, "the handler has subscribed"), resp.Body, leave})
	}
	return all
}

// subscribing2 is subscribing over HTTP/2, with the audience.
func subscribing2(t *testing.T, s *redline.Server) (*running, *audience, <-chan *pushing) {
	t.Helper()
	subs := make(chan *pushing, 1)
	a := newAudience(t)
	s.Native = func(c *redline.Ctx) { subs <- a.add(newPushing(t), c.Subscribe) }
	return serve(t, inClear(s)), a, subs
}

func (s streamed) read(n int) string {
	b := make([]byte, n)
	n, _ = io.ReadFull(s.body, b)
	return string(b[:n])
}

// TestSubscriptionHTTP2 broadcasts to many streams of one connection.
func TestSubscriptionHTTP2(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const streams, events = 50, 40
		r, a, subs := subscribing2(t, &redline.Server{Transport: transport})
		all := subscribeAll(t, r, subs, streams)
		var want strings.Builder
		for i := range events {
			text := fmt.Sprintf("event %d\n", i)
			want.WriteString(text)
			a.publish(text)
		}
		a.end()
		for i, s := range all {
			if b, err := io.ReadAll(s.body); err != nil || string(b) != want.String() {
				t.Errorf("stream %d: %.100q, %v", i, b, err)
			}
			s.wantGone(nil)
		}
	})
}

// TestSubscriptionHTTP2Ends ends streams in every way; the others of the connection go on.
func TestSubscriptionHTTP2Ends(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, a, subs := subscribing2(t, &redline.Server{Transport: transport})
		all := subscribeAll(t, r, subs, 6)
		a.publish("one ")
		for _, s := range all {
			if text := s.read(4); text != "one " {
				t.Errorf("%q", text)
			}
		}
		all[0].sub.Close()
		all[1].sub.Abort()
		all[2].leave()
		all[3].set(&all[3].panics)
		all[3].sub.Wake()
		all[0].wantGone(nil)
		all[1].wantGone(redline.ErrAbort)
		all[2].wantGone(redline.ErrGone)
		all[3].wantGone(redline.ErrAbort)
		for i, s := range all[:4] {
			if b, err := io.ReadAll(s.body); len(b) > 0 || (err == nil) != (i == 0) {
				t.Errorf("stream %d: %q, %v", i, b, err)
			}
		}
		a.publish("two ")
		for _, s := range all[4:] {
			if text := s.read(4); text != "two " {
				t.Errorf("%q", text)
			}
		}
		noError(t, r.Close())
		all[4].wantGone(redline.ErrServerClosed)
		all[5].wantGone(redline.ErrServerClosed)
	})
}

// TestSubscriptionHTTP2Windows has one stream whose client does not read: its window closes,
// the others go on, and when it reads at last it gets everything.
func TestSubscriptionHTTP2Windows(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const size, n = 10 << 10, 1500 // more than the client's windows
		r, _, subs := subscribing2(t, &redline.Server{Transport: transport, StallTimeout: -1})
		all := subscribeAll(t, r, subs, 2)
		slow, other := all[0], all[1]
		f := redline.NewFrame([]byte(strings.Repeat("x", size)))
		for range n {
			slow.add(f)
		}
		slow.end()
		slow.sub.Wake()
		for i := range 100 {
			text := fmt.Sprintf("event %3d ", i)
			other.add(redline.NewFrame([]byte(text)))
			other.sub.Wake()
			if got := other.read(len(text)); got != text {
				t.Fatalf("other stream: %q, want %q", got, text)
			}
		}
		if slow.left() == 0 {
			t.Error("everything was taken for a client that does not read")
		}
		if k, err := io.Copy(io.Discard, slow.body); err != nil || k != n*size {
			t.Errorf("client reads %d bytes, %v", k, err)
		}
		slow.wantGone(nil)
		other.sub.Close()
		other.wantGone(nil)
	})
}

// TestSubscriptionHTTP2Slow has a client that never opens its window again.
func TestSubscriptionHTTP2Slow(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, _, subs := subscribing2(t, &redline.Server{Transport: transport, StallTimeout: 300 * time.Millisecond})
		s := subscribeAll(t, r, subs, 1)[0]
		f := redline.NewFrame(make([]byte, 60<<10))
		for range 1000 {
			s.add(f)
		}
		s.sub.Wake()
		s.wantGone(redline.ErrTimeout)
	})
}

// TestSubscriptionHTTP2NoBody wants the response to HEAD to end with its head.
func TestSubscriptionHTTP2NoBody(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, _, subs := subscribing2(t, &redline.Server{Transport: transport})
		resp, err := http2Client(t).Head(r.url() + "/events")
		noError(t, err)
		resp.Body.Close()
		receive(t, subs, "the handler has subscribed").wantGone(nil)
	})
}
