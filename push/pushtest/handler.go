package pushtest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
)

// A Mount serves a hub's handler on a server until the end of the test, and returns its URL.
type Mount func(t *testing.T, h *push.Handler) (url string)

// Handler tests whether a way to mount the handler of package push keeps what the hub
// promises, through real connections.
func Handler(t *testing.T, mount Mount) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Mount)
	}{
		{"Formats", testFormats},
		{"Patterns", testPatterns},
		{"Resume", testResume},
		{"Gaps", testGaps},
		{"Order", testOrder},
		{"Slow", testSlow},
		{"Disconnect", testDisconnect},
		{"Large", testLarge},
		{"Refused", testRefused},
		{"Authorized", testAuthorized},
		{"Limits", testLimits},
		{"Leave", testLeave},
		{"Heartbeat", testHeartbeat},
		{"Lifetime", testLifetime},
		{"Shutdown", testShutdown},
		{"Close", testClose},
		{"Delay", testDelay},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, mount) })
	}
}

// Hub creates a hub that is closed at the end of the test.
func Hub(t testing.TB, o push.Options) *push.Hub {
	t.Helper()
	h, err := push.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// Plain serves a handler by net/http until the end of the test, and returns its URL. It is a
// [Mount].
func Plain(t *testing.T, h *push.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Publish publishes an event with data, and returns the receipt.
func Publish(t testing.TB, h *push.Hub, topic, data string) push.Receipt {
	t.Helper()
	r, err := h.Publish(t.Context(), push.Event{Topic: topic, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func on(topics ...string) Query { return Query{Topics: topics} }

func testFormats(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{})
	at := mount(t, hub.Handler(nil))
	streams := map[string]*Stream{}
	for _, format := range []string{"sse", "ndjson", "protobuf"} {
		streams[format] = Open(t, at, Query{Topics: []string{"a/1"}, Format: format})
	}
	for i, data := range []string{`{"n":1}`, "two\nlines", "", strings.Repeat("x", 5000)} {
		e := push.Event{Topic: "a/1", Type: "kind", ID: fmt.Sprint("id", i), Data: []byte(data)}
		if _, err := hub.Publish(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		for format, s := range streams {
			m := s.Next()
			if m.ID != e.ID || m.Type != "kind" || string(m.Data) != data || format != "sse" && m.Topic != "a/1" {
				t.Fatalf("%s: got %+v for %+v", format, m, e)
			}
		}
	}
	s := Open(t, at, Query{Topics: []string{"a/1"}, Header: http.Header{"Accept": {"application/xml, text/event-stream;q=0.9"}}})
	Publish(t, hub, "a/1", "x")
	s.Want("x")
}

func testPatterns(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{})
	at := mount(t, hub.Handler(nil))
	one, all, both := Open(t, at, on("a/*")), Open(t, at, on("a/**")), Open(t, at, on("a/1", "a/*", "**"))
	for _, topic := range []string{"a", "a/1", "b", "a/1/x", "a/2"} {
		Publish(t, hub, topic, topic)
	}
	one.Want("a/1", "a/2")
	all.Want("a", "a/1", "a/1/x", "a/2")
	if m := both.Want("a", "a/1", "b", "a/1/x", "a/2"); m.Topic != "a/2" {
		t.Errorf("a subscriber of several topics is not told the topic: %+v", m)
	}
}

func testResume(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{})
	at := mount(t, hub.Handler(nil))
	for i := range 20 {
		Publish(t, hub, fmt.Sprint("t/", i%3), fmt.Sprint(i))
	}
	s := Open(t, at, on("t/*"))
	if s.Start.ID == "" {
		t.Fatal("a new subscriber is not told its position")
	}
	fourth := Publish(t, hub, "t/0", "20").ID
	s.Want("20")
	s.Close()
	for i := 21; i < 80; i++ {
		Publish(t, hub, fmt.Sprint("t/", i%3), fmt.Sprint(i))
	}
	Publish(t, hub, "u", "not asked for")
	again := Open(t, at, Query{Topics: []string{"t/*"}, LastID: fourth})
	first := Open(t, at, Query{Topics: []string{"t/*"}, LastID: s.Start.ID})
	first.Want("20")
	for i := 21; i < 100; i++ {
		if i >= 80 {
			Publish(t, hub, fmt.Sprint("t/", i%3), fmt.Sprint(i))
		}
		again.Want(fmt.Sprint(i))
		first.Want(fmt.Sprint(i))
	}
}

func testGaps(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{History: push.History{Events: 5}})
	at := mount(t, hub.Handler(nil))
	first := Publish(t, hub, "t", "0").ID
	var last, eighth string
	for i := 1; i < 10; i++ {
		last = Publish(t, hub, "t", fmt.Sprint(i)).ID
		if i == 5 {
			eighth = last
		}
	}
	s := Open(t, at, Query{Topics: []string{"t"}, LastID: first})
	if g := s.Next().Gap; g == nil || g.From != first || g.To != eighth || g.Reason != "history" {
		t.Errorf("too old: got %+v, want a gap from %s to %s", g, first, eighth)
	}
	s.Want("5", "6", "7", "8", "9")

	s = Open(t, at, Query{Topics: []string{"t"}, LastID: "0123456789abcdef-7"})
	if g := s.Next().Gap; g == nil || g.From != "0123456789abcdef-7" || g.To != eighth || g.Reason != "epoch" {
		t.Errorf("another epoch: got %+v", g)
	}
	s.Want("5", "6", "7", "8", "9")

	future := last[:strings.LastIndex(last, "-")] + "-99999"
	for _, id := range []string{future, last + "0"} {
		s = Open(t, at, Query{Topics: []string{"t"}, LastID: id})
		m := s.Next()
		if g := m.Gap; g == nil || g.From != id || g.To != last || g.Reason != "unknown-id" || m.ID != last {
			t.Errorf("ID %q: got %+v", id, m)
		}
		s.Close()
	}
	for _, id := range []string{"forged", "-1", "%00", strings.Repeat("é", 100)} {
		s = Open(t, at, Query{Topics: []string{"t"}, LastID: id})
		m := s.Next()
		if g := m.Gap; g == nil || g.From != id || g.To != eighth || g.Reason != "unknown-id" {
			t.Errorf("ID %q: got %+v", id, m)
		}
		s.Want("5", "6", "7", "8", "9")
		s.Close()
	}
	s = Open(t, at, Query{Topics: []string{"t"}, LastID: last})
	Publish(t, hub, "t", "10")
	s.Want("10")
}

// testOrder has several publishers and subscribers at a time, some of which come late and
// resume: nobody misses an event, or gets one twice or too early.
func testOrder(t *testing.T, mount Mount) {
	const topics, events = 4, 200
	hub := Hub(t, push.Options{History: push.History{Events: 10_000, Bytes: 1 << 24}, QueueEvents: 10_000})
	at := mount(t, hub.Handler(nil))
	var all []*Stream
	for range 5 {
		all = append(all, Open(t, at, on("t/*")))
	}
	var publishers sync.WaitGroup
	for p := range topics {
		publishers.Go(func() {
			for i := range events {
				_, err := hub.Publish(t.Context(), push.Event{Topic: fmt.Sprint("t/", p), Data: []byte(fmt.Sprint(i))})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		all = append(all, Open(t, at, Query{Topics: []string{"t/*"}, LastID: all[0].Start.ID}))
	}
	for n, s := range all {
		var next [topics]int
		for range topics * events {
			m := s.Next()
			p := m.Topic[len(m.Topic)-1] - '0'
			if want := fmt.Sprint(next[p]); string(m.Data) != want {
				t.Fatalf("subscriber %d: got %+v (%s), want %s", n, m, m.Data, want)
			}
			next[p]++
		}
	}
	publishers.Wait()
}

// flood publishes large events until the hub drops some, because a client reads nothing.
func flood(t *testing.T, hub *push.Hub, topic string, dropped func(push.Stats) bool) (n int) {
	t.Helper()
	data := strings.Repeat("x", 64<<10)
	for end := time.Now().Add(Patience); !dropped(hub.Stats()); n++ {
		if time.Now().After(end) {
			t.Fatalf("nothing was dropped after %d events", n)
		}
		Publish(t, hub, topic, data)
	}
	return n
}

// testSlow wants a client that reads too little to learn of each event that it misses, while
// another one misses none.
func testSlow(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{QueueEvents: 4})
	at := mount(t, hub.Handler(nil))
	slow, quick := Open(t, at, on("t")), Open(t, at, on("u"))
	n := flood(t, hub, "t", func(st push.Stats) bool { return st.Dropped >= 10 })
	Publish(t, hub, "u", "quick")
	quick.Want("quick")
	seen, missed, last := 0, 0, slow.Start.ID
	for seen+missed < n {
		m := slow.Next()
		if m.Gap == nil {
			seen++
			last = m.ID
			continue
		}
		if m.Gap.Reason != "slow" || m.Gap.From != last {
			t.Fatalf("got %+v after %s", m.Gap, last)
		}
		missed += m.Gap.Dropped
	}
	if seen+missed != n || uint64(missed) != hub.Stats().Dropped {
		t.Errorf("%d events and %d missed are not the %d published; dropped %d", seen, missed, n, hub.Stats().Dropped)
	}
	// The events that were dropped and are still in the history come with a new connection.
	Publish(t, hub, "t", "end")
	for m := slow.Next(); string(m.Data) != "end"; m = slow.Next() {
		t.Fatalf("got %+v, want the last event", m)
	}
}

func testDisconnect(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{
		QueueEvents: 4, WriteTimeout: time.Second,
		Rules: []push.Rule{{Pattern: "t", Policy: push.Disconnect}},
	})
	at := mount(t, hub.Handler(nil))
	slow := Open(t, at, on("t"))
	flood(t, hub, "t", func(st push.Stats) bool { return st.Endings["slow"] > 0 })
	rest, err := slow.End()
	if n := len(rest); err == nil && (n == 0 || rest[n-1].Bye == nil || rest[n-1].Bye.Reason != "slow") {
		t.Errorf("the stream ends in order without a bye")
	}
	Until(t, "the subscriber is gone", func() bool { return hub.Stats().Subscribers == 0 })
}

func testLarge(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{MaxEventBytes: 10 << 20, QueueBytes: 32 << 20})
	at := mount(t, hub.Handler(nil))
	s := Open(t, at, Query{Topics: []string{"t"}, Format: "protobuf"})
	data := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	for range 3 {
		if _, err := hub.Publish(t.Context(), push.Event{Topic: "t", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if m := s.Next(); !bytes.Equal(m.Data, data) {
			t.Fatalf("got %d bytes of %s", len(m.Data), m.Type)
		}
	}
}

// testDelay wants events that wait for company to arrive all the same, in order.
func testDelay(t *testing.T, mount Mount) {
	hub := Hub(t, push.Options{MaxDelay: 5 * time.Millisecond})
	at := mount(t, hub.Handler(nil))
	a, b := Open(t, at, on("t/a")), Open(t, at, on("t/*"))
	for i := range 50 {
		Publish(t, hub, "t/a", fmt.Sprint(i))
		Publish(t, hub, "t/b", fmt.Sprint(i))
	}
	for i := range 50 {
		a.Want(fmt.Sprint(i))
		b.Want(fmt.Sprint(i), fmt.Sprint(i))
	}
}
