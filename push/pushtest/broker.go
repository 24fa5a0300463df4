package pushtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
)

// Broker tests whether a broker keeps what a hub needs of it. open returns one that has
// no events; it is closed by the test's cleanup.
func Broker(t *testing.T, open func(t *testing.T) push.Broker) {
	t.Run("Order", func(t *testing.T) { testBrokerOrder(t, open(t)) })
	t.Run("Repeated", func(t *testing.T) { testBrokerRepeated(t, open(t)) })
	t.Run("Replay", func(t *testing.T) { testBrokerReplay(t, open(t)) })
	t.Run("Cancel", func(t *testing.T) { testBrokerCancel(t, open(t)) })
	t.Run("Hubs", func(t *testing.T) { testBrokerHubs(t, open(t)) })
	t.Run("End", func(t *testing.T) { testBrokerEnd(t, open(t)) })
	t.Run("Shutdown", func(t *testing.T) { testBrokerShutdown(t, open(t)) })
}

func span(t *testing.T, b push.Broker) push.Span {
	t.Helper()
	s, err := b.Open(t.Context())
	if err != nil || s.Epoch == "" {
		t.Fatalf("Open: %+v, %v", s, err)
	}
	return s
}

func put(t *testing.T, b push.Broker, e push.Event) uint64 {
	t.Helper()
	seq, repeated, err := b.Publish(t.Context(), e)
	if err != nil || repeated || seq == 0 {
		t.Fatalf("Publish: %d, %v, %v", seq, repeated, err)
	}
	return seq
}

// testBrokerOrder has followers see all events of several publishers, in one order.
func testBrokerOrder(t *testing.T, b push.Broker) {
	const publishers, events = 4, 50
	start := span(t, b).Last
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var work sync.WaitGroup
	var orders [3][]string
	for i := range orders {
		work.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			last := start
			err := b.Follow(ctx, start, func(r push.Record) {
				if r.Seq <= last {
					t.Errorf("%d follows %d", r.Seq, last)
				}
				last = r.Seq
				orders[i] = append(orders[i], fmt.Sprint(r.Seq, r.Event.Topic, string(r.Event.Data), r.Event.Type, r.Event.Key))
				if len(orders[i]) == publishers*events {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Follow: %v", err)
			}
		})
	}
	for p := range publishers {
		work.Go(func() {
			last := uint64(0)
			for i := range events {
				seq, _, err := b.Publish(ctx, push.Event{Topic: fmt.Sprint("t/", p), Data: []byte(fmt.Sprint(i)), Type: "y", Key: "k"})
				if err != nil || seq <= last {
					t.Errorf("Publish: %d after %d, %v", seq, last, err)
				}
				last = seq
			}
		})
	}
	work.Wait()
	if len(orders[0]) != publishers*events || !slices.Equal(orders[0], orders[1]) || !slices.Equal(orders[0], orders[2]) {
		t.Errorf("followers see %d, %d and %d events, or not the same", len(orders[0]), len(orders[1]), len(orders[2]))
	}
}

func testBrokerRepeated(t *testing.T, b push.Broker) {
	first := put(t, b, push.Event{Topic: "a", ID: "one"})
	put(t, b, push.Event{Topic: "a", ID: "two"})
	put(t, b, push.Event{Topic: "a"})
	put(t, b, push.Event{Topic: "a"})
	seq, repeated, err := b.Publish(t.Context(), push.Event{Topic: "a", ID: "one"})
	if seq != first || !repeated || err != nil {
		t.Errorf("got %d, %v, %v, want %d again", seq, repeated, err, first)
	}
	if s := span(t, b); s.Last < first+3 || s.First > first {
		t.Errorf("got %+v", s)
	}
}

func testBrokerReplay(t *testing.T, b push.Broker) {
	var at []uint64
	for i := range 20 {
		at = append(at, put(t, b, push.Event{Topic: fmt.Sprint("t/", i%4), Data: []byte(fmt.Sprint(i))}))
	}
	for _, c := range []struct {
		after, until uint64
		filters      []string
		most         int
		want         string
	}{
		{at[3], at[11], []string{"t/1"}, 99, "[5 9]"},
		{at[3], at[11], []string{"t/*"}, 3, "[4 5 6]"},
		{at[3], at[7], []string{"t/1", "**", "t/*"}, 99, "[4 5 6 7]"},
		{at[15], at[19], []string{"t/3", "t/0"}, 99, "[16 19]"},
		{at[19], at[19] + 5, []string{"**"}, 99, "[]"},
		{at[0], at[19], []string{"none"}, 99, "[]"},
	} {
		got := []string{}
		first, err := b.Replay(t.Context(), c.after, c.until, c.filters, func(r push.Record) bool {
			got = append(got, string(r.Event.Data))
			return len(got) < c.most
		})
		if err != nil || fmt.Sprint(got) != c.want || first > at[0] {
			t.Errorf("%+v: got %v, oldest %d, %v", c, got, first, err)
		}
	}
}

func testBrokerCancel(t *testing.T, b push.Broker) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Follow(ctx, span(t, b).Last, func(push.Record) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("Follow: %v", err)
	}
	if _, _, err := b.Publish(ctx, push.Event{Topic: "a"}); err == nil {
		t.Error("Publish ignores its context")
	}
}

// testBrokerHubs has a subscriber move from one hub to another, and beyond what the memory
// of hubs holds.
func testBrokerHubs(t *testing.T, b push.Broker) {
	one := Hub(t, push.Options{Broker: b, History: push.History{Events: 3}})
	two := Hub(t, push.Options{Broker: b, History: push.History{Events: 3}})
	at, other := Plain(t, one.Handler(nil)), Plain(t, two.Handler(nil))
	Until(t, "the hubs have reached the broker", func() bool { return one.Ready() && two.Ready() })
	s := Open(t, at, on("t", "u"))
	var last Message
	for i := range 30 {
		e := push.Event{Topic: []string{"t", "u"}[i%2], Data: []byte(fmt.Sprint(i)), ID: fmt.Sprint("id", i)}
		if _, err := []*push.Hub{one, two}[i%2].Publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if i < 10 {
			last = s.Want(fmt.Sprint(i))
		}
	}
	s.Close()
	s = Open(t, other, Query{Topics: []string{"t", "u"}, LastID: last.ID})
	for i := 10; i < 30; i++ {
		s.Want(fmt.Sprint(i))
	}
	Publish(t, one, "t", "live")
	s.Want("live")
}

// testBrokerEnd has a hub end the subscribers of another one, and keep a user out of it. Subscribers of
// everything see nothing of that, and their positions go on.
func testBrokerEnd(t *testing.T, b push.Broker) {
	one, two := Hub(t, push.Options{Broker: b}), Hub(t, push.Options{Broker: b})
	h := two.Handler(nil)
	h.User = func(r *http.Request) string { return r.Header.Get("X-User") }
	at := Plain(t, h)
	Until(t, "the hubs have reached the broker", func() bool { return one.Ready() && two.Ready() })
	ann := Query{Topics: []string{"t"}, Header: http.Header{"X-User": {"ann"}}}
	s, all := Open(t, at, ann), Open(t, at, on("**"))
	for _, e := range []push.Ending{
		{User: "ann", Reason: "moved"},
		{User: "eve", Until: time.Now().Add(time.Hour)},
	} {
		if n, err := one.End(t.Context(), e); n != 0 || err != nil {
			t.Fatalf("%+v: %d %v", e, n, err)
		}
	}
	if rest, err := s.End(); err != nil || len(rest) != 1 || rest[0].Bye == nil || rest[0].Bye.Reason != "moved" {
		t.Errorf("got %+v %v", rest, err)
	}
	Until(t, "the other hub knows it", func() bool { return two.Stats().Revoked == 1 })
	if status, _, _ := Refused(t, http.MethodGet, on("t").URL(at), http.Header{"X-User": {"eve"}}); status != http.StatusUnauthorized {
		t.Errorf("she is answered with %d", status)
	}
	Publish(t, one, "t", "last")
	all.Want("last")
}

// testBrokerShutdown has a hub end while subscribers read what only the broker holds: they get all
// of it first. One that asks for everything, or with an ID that nobody knows, gets that too.
func testBrokerShutdown(t *testing.T, b push.Broker) {
	const events = 600 // several replays
	held := &heldBack{Broker: b, asked: make(chan struct{}, 1), free: make(chan struct{})}
	hub := Hub(t, push.Options{Broker: held, History: push.History{Events: 3}, Spread: -1})
	at := Plain(t, hub.Handler(nil))
	Until(t, "the hub has reached the broker", hub.Ready)
	begin := hub.Position()
	var last string
	for i := range events {
		last = Publish(t, hub, "t", fmt.Sprint(i)).ID
	}
	Until(t, "the hub has all", func() bool { return hub.Position() == last })
	all := []*Stream{
		Open(t, at, Query{Topics: []string{"t"}, LastID: begin}),
		Open(t, at, Query{Topics: []string{"t"}, LastID: "earliest"}),
		Open(t, at, Query{Topics: []string{"t"}, LastID: "unknown"}),
	}
	<-held.asked // once for all who want the same
	Until(t, "all have joined", func() bool { return hub.Stats().Subscribers == len(all) })
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		ended <- hub.Shutdown(ctx)
	}()
	Until(t, "the hub is shut down", func() bool { return !hub.Ready() })
	close(held.free)
	if m := all[2].Next(); m.Gap == nil || m.Gap.From != "unknown" || m.Gap.Reason != "unknown-id" {
		t.Errorf("unknown: got %+v", m)
	}
	for _, s := range all {
		for i := range events {
			s.Want(fmt.Sprint(i))
		}
		if m := s.Next(); m.Bye == nil || m.Bye.Reason != "shutdown" {
			t.Errorf("got %+v instead of the bye", m)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// heldBack is a broker whose replays wait, as those over a network do.
type heldBack struct {
	push.Broker
	asked chan struct{} // gets one for the first replay
	free  chan struct{} // closed: they go on
}

func (b *heldBack) Replay(ctx context.Context, after, until uint64, filters []string, f func(push.Record) bool) (uint64, error) {
	select {
	case b.asked <- struct{}{}:
	default:
	}
	select {
	case <-b.free:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return b.Broker.Replay(ctx, after, until, filters, f)
}
