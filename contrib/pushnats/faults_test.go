package pushnats_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/contrib/pushnats"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// events is how many each publisher of a fault test sends.
func events(n int) int { return n * *scale }

// TestNodeKilled kills nodes under load, one after the other, and starts others in their
// place.
func TestNodeKilled(t *testing.T) {
	b := startBroker(t, t.TempDir(), "127.0.0.1:0")
	var nodes []*process
	var at []string
	for range 3 {
		n := startNode(t, b.at)
		nodes, at = append(nodes, n), append(at, n.at)
	}
	l := newLoad(t, events(300), at...)
	l.publish("x")
	kills := 3 * *scale
	for i := range kills {
		l.reached((i + 1) * 100 / (kills + 1))
		nodes[i%3].kill()
		nodes[i%3] = startNode(t, b.at)
		l.set(i%3, nodes[i%3].at)
	}
	l.finish(fmt.Sprintf("%d nodes killed", kills))
}

// TestBrokerKilled kills the server of the stream under load, and starts it again.
func TestBrokerKilled(t *testing.T) {
	dir := t.TempDir()
	b := startBroker(t, dir, memberHosts()[0]+":0")
	l := newLoad(t, events(300), startNode(t, b.at).at, startNode(t, b.at).at)
	l.publish("x")
	kills := 3 * *scale
	for i := range kills {
		l.reached((i + 1) * 100 / (kills + 1))
		b.kill()
		failed := l.retried.Load()
		l.until("publishers notice", func() bool { return l.retried.Load() > failed })
		b = startBroker(t, dir, strings.TrimPrefix(b.at, "nats://"))
	}
	l.finish(fmt.Sprintf("broker killed %d times", kills))
}

// TestIsolated has a hub deliver without its broker, which the clients are told.
func TestIsolated(t *testing.T) {
	dir := t.TempDir()
	p := startBroker(t, dir, memberHosts()[0]+":0")
	b := open(t, pushnats.Options{URL: p.at, Ping: ping})
	hub := pushtest.Hub(t, push.Options{Broker: b, Isolated: push.DeliverLocally})
	pushtest.Until(t, "the hub is ready", hub.Ready)
	s := pushtest.Open(t, pushtest.Plain(t, hub.Handler(nil)), pushtest.Query{Topics: []string{"t"}})
	pushtest.Publish(t, hub, "t", "1")
	first := s.Want("1")
	p.kill()
	if m := s.Next(); m.Gap == nil || m.Gap.Reason != "broker" {
		t.Errorf("without the broker: %+v", m)
	}
	pushtest.Publish(t, hub, "t", "local")
	if m := s.Want("local"); m.ID != "" {
		t.Errorf("it has the ID %q, from which nobody can resume", m.ID)
	}
	startBroker(t, dir, strings.TrimPrefix(p.at, "nats://"))
	pushtest.Until(t, "the broker is back", func() bool {
		_, _, err := b.Publish(t.Context(), push.Event{Topic: "t", ID: "two", Data: []byte("2")})
		return err == nil
	})
	if m := s.Want("2"); m.ID == "" || m.ID == first.ID {
		t.Errorf("after the return: %+v", m)
	}
}

// TestGap resumes from events that the stream has dropped.
func TestGap(t *testing.T) {
	b := open(t, pushnats.Options{MaxEvents: 20})
	hub := pushtest.Hub(t, push.Options{Broker: b, History: push.History{Events: 4}})
	pushtest.Until(t, "the hub is ready", hub.Ready)
	at := pushtest.Plain(t, hub.Handler(nil))
	s := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}})
	pushtest.Publish(t, hub, "t", "second")
	last := s.Want("second")
	s.Close()
	for i := range 50 {
		pushtest.Publish(t, hub, "t", fmt.Sprint(i))
	}
	s = pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: last.ID})
	if m := s.Next(); m.Gap == nil || m.Gap.Reason != "history" || m.Gap.From != last.ID || m.Gap.To == "" {
		t.Errorf("got %+v, want a gap from %s", m, last.ID)
	}
	for i := 30; i < 50; i++ {
		s.Want(fmt.Sprint(i))
	}
}

// TestClock has publishers whose clocks are wrong by an hour and by years.
func TestClock(t *testing.T) {
	b := open(t, pushnats.Options{})
	hub := pushtest.Hub(t, push.Options{Broker: b, History: push.History{Events: 4, Age: time.Minute}})
	pushtest.Until(t, "the hub is ready", hub.Ready)
	at := pushtest.Plain(t, hub.Handler(nil))
	s := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}})
	begin := s.Start.ID
	var want []string
	for i := range 60 {
		off := []time.Duration{0, time.Hour, -time.Hour, 50 * 365 * 24 * time.Hour, -50 * 365 * 24 * time.Hour}[i%5]
		want = append(want, fmt.Sprint(i))
		if _, err := hub.Publish(t.Context(), push.Event{Topic: "t", Data: []byte(want[i]), Time: time.Now().Add(off)}); err != nil {
			t.Fatal(err)
		}
	}
	s.Want(want...)
	pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: begin}).Want(want...)
}

// TestAhead resumes on a node that has yet to receive what the client has seen.
func TestAhead(t *testing.T) {
	b := open(t, pushnats.Options{})
	hub := pushtest.Hub(t, push.Options{Broker: b})
	pushtest.Until(t, "the hub is ready", hub.Ready)
	at := pushtest.Plain(t, hub.Handler(nil))
	epoch := span(t, b).Epoch
	s := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: epoch + "-3"})
	far := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: epoch + "-999999999"})
	for i := range 5 {
		pushtest.Publish(t, hub, "t", fmt.Sprint(i))
	}
	s.Want("3", "4")
	if m := far.Next(); m.Gap == nil || m.Gap.Reason != "unknown-id" {
		t.Errorf("a place that cannot be: %+v", m)
	}
	far.Want("0", "1", "2", "3", "4")
}
