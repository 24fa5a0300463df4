package memory_test

import (
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
