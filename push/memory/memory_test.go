package memory_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/memory"
	"github.com/redline-go/redline/push/pushtest"
)

func TestBroker(t *testing.T) {
	pushtest.Broker(t, func(*testing.T) push.Broker { return memory.NewBroker(1000) })
}

func TestRegistry(t *testing.T) {
	pushtest.Registry(t, func(*testing.T) (push.Registry, func(time.Duration)) {
		var now atomic.Int64
		r := memory.NewRegistry(func() time.Time { return time.Unix(now.Load(), 0) })
		return r, func(d time.Duration) { now.Add(int64(d / time.Second)) }
	})
}

// hubOn returns a hub that has reached a broker, and the URL of its handler.
func hubOn(t *testing.T, b *memory.Broker, o push.Options) (*push.Hub, string) {
	t.Helper()
	o.Broker = b
	hub := pushtest.Hub(t, o)
	at := pushtest.Plain(t, hub.Handler(nil))
	pushtest.Until(t, "the hub has reached the broker", hub.Ready)
	return hub, at
}

func topic(name string) pushtest.Query { return pushtest.Query{Topics: []string{name}} }

// TestRefuse: without the broker nothing is acknowledged, and what was comes afterwards.
func TestRefuse(t *testing.T) {
	b := memory.NewBroker(1000)
	one, at := hubOn(t, b, push.Options{})
	_, _ = hubOn(t, b, push.Options{})
	s := pushtest.Open(t, at, topic("t"))
	pushtest.Publish(t, one, "t", "a")
	s.Want("a")
	b.SetDown(true)
	if _, err := one.Publish(t.Context(), push.Event{Topic: "t"}); err == nil {
		t.Error("published without the broker")
	}
	b.SetDown(false)
	for i := range 10 {
		if _, _, err := b.Publish(t.Context(), push.Event{Topic: "t", Data: []byte(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		s.Want(fmt.Sprint(i))
	}
}

// TestDeliverLocally: without the broker clients are told, get local events once, and then
// what the others have published.
func TestDeliverLocally(t *testing.T) {
	b := memory.NewBroker(1000)
	hub, at := hubOn(t, b, push.Options{Isolated: push.DeliverLocally})
	s := pushtest.Open(t, at, topic("t"))
	pushtest.Publish(t, hub, "t", "a")
	last := s.Want("a")
	b.SetDown(true)
	if m := s.Next(); m.Gap == nil || m.Gap.Reason != "broker" || m.Gap.From != last.ID {
		t.Fatalf("got %+v, want a gap", m)
	}
	e := push.Event{Topic: "t", ID: "mine", Data: []byte("local")}
	for range 2 {
		if _, err := hub.Publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.Want("local"); m.ID != "" {
		t.Errorf("a client could resume from %+v", m)
	}
	b.SetDown(false)
	pushtest.Until(t, "the broker takes events again", func() bool {
		_, _, err := b.Publish(t.Context(), e)
		return err == nil
	})
	pushtest.Publish(t, hub, "t", "b")
	s.Want("b")
}

// TestLost: a broker that has lost events, or everything, makes a gap.
func TestLost(t *testing.T) {
	b := memory.NewBroker(4)
	hub, at := hubOn(t, b, push.Options{History: push.History{Events: -1}})
	s := pushtest.Open(t, at, topic("t"))
	pushtest.Publish(t, hub, "t", "a")
	last := s.Want("a")
	for i := range 10 {
		pushtest.Publish(t, hub, "t", fmt.Sprint(i))
		s.Want(fmt.Sprint(i))
	}
	again := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: last.ID})
	if m := again.Next(); m.Gap == nil || m.Gap.Reason != "history" || m.Gap.From != last.ID {
		t.Fatalf("got %+v, want a gap", m)
	}
	again.Want("6", "7", "8", "9")
	b.Reset()
	if m := s.Next(); m.Gap == nil || m.Gap.Reason != "epoch" {
		t.Fatalf("got %+v, want a gap", m)
	}
	pushtest.Publish(t, hub, "t", "new")
	s.Want("new")
}

// A halting broker ends its first replays with an error after what it has replayed.
type halting struct {
	*memory.Broker
	left, ended atomic.Int32
}

func (b *halting) Replay(ctx context.Context, after, until uint64, filters []string, f func(push.Record) bool) (uint64, error) {
	first, err := b.Broker.Replay(ctx, after, until, filters, f)
	if err == nil && b.left.Add(-1) >= 0 {
		first, err = 0, memory.ErrDown
	}
	b.ended.Add(1)
	return first, err
}

// TestReplayAgain: a client that resumes while the broker cannot replay waits until it can, as
// those that are there wait for it, and misses nothing.
func TestReplayAgain(t *testing.T) {
	b := &halting{Broker: memory.NewBroker(1000)}
	hub := pushtest.Hub(t, push.Options{Broker: b, History: push.History{Events: -1}})
	at := pushtest.Plain(t, hub.Handler(nil))
	pushtest.Until(t, "the hub has reached the broker", hub.Ready)
	s := pushtest.Open(t, at, topic("t"))
	begin := s.Start.ID
	pushtest.Publish(t, hub, "t", "a")
	s.Want("a")
	b.SetDown(true)
	again := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: begin})
	pushtest.Until(t, "the broker was asked", func() bool { return b.ended.Load() > 0 })
	b.SetDown(false)
	again.Want("a")
	pushtest.Publish(t, hub, "t", "b")
	again.Want("b")
}

// TestReplayHalts: an error after the first events of a replay hides no loss before them.
func TestReplayHalts(t *testing.T) {
	b := &halting{Broker: memory.NewBroker(4)}
	b.left.Store(2)
	hub := pushtest.Hub(t, push.Options{Broker: b, History: push.History{Events: -1}})
	at := pushtest.Plain(t, hub.Handler(nil))
	pushtest.Until(t, "the hub has reached the broker", hub.Ready)
	s := pushtest.Open(t, at, topic("t"))
	begin := s.Start.ID
	for i := range 10 {
		pushtest.Publish(t, hub, "t", fmt.Sprint(i))
		s.Want(fmt.Sprint(i))
	}
	again := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: begin})
	if m := again.Next(); m.Gap == nil || m.Gap.Reason != "history" || m.Gap.From != begin {
		t.Fatalf("got %+v, want a gap", m)
	}
	again.Want("6", "7", "8", "9")
}

// A deaf broker stores events, and does not say so. What it stores follows when the gate is open.
type deaf struct {
	*memory.Broker
	on   atomic.Bool
	gate chan struct{}
}

func (b *deaf) Publish(ctx context.Context, e push.Event) (uint64, bool, error) {
	seq, repeated, err := b.Broker.Publish(ctx, e)
	if err == nil && b.on.Load() {
		err = memory.ErrDown
	}
	return seq, repeated, err
}

func (b *deaf) Follow(ctx context.Context, after uint64, f func(push.Record)) error {
	return b.Broker.Follow(ctx, after, func(r push.Record) {
		if b.on.Load() {
			<-b.gate
		}
		f(r)
	})
}

// TestLostAcknowledgement: an event that was delivered locally, because its acknowledgement was
// lost, comes back from the broker for those who were not there, and for nobody else.
func TestLostAcknowledgement(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			b := &deaf{Broker: memory.NewBroker(1000), gate: make(chan struct{})}
			hub := pushtest.Hub(t, push.Options{Broker: b, Isolated: push.DeliverLocally})
			at := serve(t, hub.Handler(nil))
			pushtest.Until(t, "the hub has reached the broker", hub.Ready)
			here := pushtest.Open(t, at, topic("t"))
			pushtest.Publish(t, hub, "t", "a")
			last := here.Want("a")
			b.on.Store(true)
			e := push.Event{Topic: "t", ID: "mine", Data: []byte("local")}
			if _, err := hub.Publish(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if m := here.Want("local"); m.ID != "" {
				t.Errorf("a client could resume from %+v", m)
			}
			away := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: last.ID})
			late := pushtest.Open(t, at, topic("t"))
			b.on.Store(false)
			close(b.gate)
			for _, s := range []*pushtest.Stream{away, late} {
				if m := s.Want("local"); m.ID == "" {
					t.Errorf("it has no ID: %+v", m)
				}
			}
			b.on.Store(true) // the event is known, and its acknowledgement lost again
			if r, err := hub.Publish(t.Context(), e); err != nil || !r.Duplicate {
				t.Errorf("got %+v, %v, want a duplicate", r, err)
			}
			b.on.Store(false)
			pushtest.Publish(t, hub, "t", "b")
			for _, s := range []*pushtest.Stream{here, away, late} {
				s.Want("b")
			}
		})
	}
}

// A late broker cannot be opened while it is told so.
type late struct {
	*memory.Broker
	on, tried atomic.Bool
}

func (b *late) Open(ctx context.Context) (push.Span, error) {
	if b.on.Load() {
		b.tried.Store(true)
		return push.Span{}, memory.ErrDown
	}
	return b.Broker.Open(ctx)
}

// TestBacklog: what was published while the broker was lost reaches those who read, however much
// it is.
func TestBacklog(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			b := &late{Broker: memory.NewBroker(1000)}
			hub := pushtest.Hub(t, push.Options{Broker: b, QueueEvents: 8, History: push.History{Events: 4}})
			at := serve(t, hub.Handler(nil))
			pushtest.Until(t, "the hub has reached the broker", hub.Ready)
			s := pushtest.Open(t, at, topic("t"))
			all := pushtest.Open(t, at, topic("**"))
			b.on.Store(true)
			b.SetDown(true)
			pushtest.Until(t, "the hub has lost the broker", b.tried.Load)
			b.SetDown(false)
			for i := range 500 {
				if _, _, err := b.Publish(t.Context(), push.Event{Topic: "t", Data: []byte(fmt.Sprint(i))}); err != nil {
					t.Fatal(err)
				}
			}
			b.on.Store(false)
			for i := range 500 {
				s.Want(fmt.Sprint(i))
				all.Want(fmt.Sprint(i))
			}
			pushtest.Publish(t, hub, "t", "live")
			s.Want("live")
		})
	}
}
