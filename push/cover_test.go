package push

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/push/topic"
)

// TestCover holds sets of few and of many patterns against the definition.
func TestCover(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	some := func() string {
		segments := make([]string, 1+r.IntN(3))
		for i := range segments {
			segments[i] = []string{"a", "b", "c", "*"}[r.IntN(4)]
		}
		if r.IntN(4) == 0 {
			segments[len(segments)-1] = "**"
		}
		return strings.Join(segments, "/")
	}
	for range 2000 {
		var all []string
		for range 1 + r.IntN(3*fewCovers) {
			if f := some(); r.IntN(3) == 0 || !strings.Contains(f, "**") {
				all = append(all, f)
			}
		}
		f := some()
		want := slices.ContainsFunc(all, func(g string) bool { return g == f || topic.Covers(g, f) })
		if c := newCover(all); c.covers(f) != want || c.has(f) != slices.Contains(all, f) {
			t.Fatalf("%q covers %q: want %v", all, f, want)
		}
		slices.Sort(all)
		if all = slices.Compact(all); len(all) == 0 {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(all), func(f string) bool {
			return slices.ContainsFunc(all, func(g string) bool { return g != f && topic.IsPattern(g) && topic.Covers(g, f) })
		})
		if got := without(all); !slices.Equal(got, kept) {
			t.Fatalf("of %q: got %q, want %q", all, got, kept)
		}
	}
}

// TestCoverLooks: what it costs to authorize and to compare a thousand patterns grows with their number,
// and not with its square.
func TestCoverLooks(t *testing.T) {
	const n = 1024 // as many as may be granted by default
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("users/%d/*", i)
	}
	var known cover
	granted, patterns := newCover(all), newCover(all)
	for _, f := range all {
		if known.has(f) || !granted.covers(f) {
			t.Fatalf("%q is taken for a second one, or not granted", f)
		}
		known.add(f)
	}
	if kept := patterns.uncovered(all); !slices.Equal(kept, all) {
		t.Fatalf("%d of %d patterns are kept, and none covers another", len(kept), n)
	}
	if known.looks+granted.looks+patterns.looks > 4*n {
		t.Errorf("of %d patterns %d were looked at to know them again, %d for what is granted, %d to compare them: want about %d each",
			n, known.looks, granted.looks, patterns.looks, n)
	}
}

// TestRequestIsNotKept: what a subscriber keeps of its request does not keep the whole of it in memory.
func TestRequestIsNotKept(t *testing.T) {
	h := newHub(t, Options{MaxPerAddress: 1 << 20, MaxPerUser: 1 << 20})
	var all []*idle
	before := heapBytes()
	for i := range 200 {
		long := strings.Repeat("a", 64<<10)
		query := fmt.Sprintf("topic=t%d&x=%s&last_event_id=%s&user=u%d", i, long, h.id(0), i)
		j, refused := h.Handler(nil).parse(&ask{method: "GET", query: query, r: &http.Request{RemoteAddr: "192.0.2.1:1"}})
		if refused != nil {
			t.Fatal(refused.text)
		}
		j.user, j.address = query[len(query)-5:]+fmt.Sprint(i), query[len(query)-4:]
		s := new(idle)
		s.sink = s
		kept := *j
		if err := h.admit(&s.subscriber, &kept); err != nil {
			t.Fatal(err)
		}
		h.join(&s.subscriber, nil, &kept)
		all = append(all, s)
	}
	if grown := heapBytes() - before; grown > 2<<20 {
		t.Errorf("200 subscribers with long queries keep %d bytes", grown)
	}
	for _, s := range all {
		h.leave(&s.subscriber)
	}
}

// TestLongQueueDrops: to drop the oldest event of a long queue moves the others now and then, and not for
// each event.
func TestLongQueueDrops(t *testing.T) {
	const n = 4096
	h := newHub(t, Options{QueueEvents: n, QueueBytes: 1 << 30})
	s, err := join(t, h, "t")
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for i := range 5 * n {
		var last *item
		if q := s.queue; q != nil {
			last = &q.items[len(q.items)-1]
		}
		publish(t, h, Event{Topic: "t"})
		if q := s.queue; i >= n && &q.items[len(q.items)-2] != last {
			moved++
		}
	}
	if moved > 10 {
		t.Errorf("the queue was moved %d times for %d events", moved, 4*n)
	}
	if got := s.queue.len(); got != n || s.queue.items[s.queue.head].lost != 4*n {
		t.Errorf("%d wait, and %d are said to be lost", got, s.queue.items[s.queue.head].lost)
	}
	h.leave(&s.subscriber)
}

// TestLargestEventIsHeld: the newest event of a topic is held, whatever its size.
func TestLargestEventIsHeld(t *testing.T) {
	h := newHub(t, Options{})
	for range 20 {
		publish(t, h, Event{Topic: "t"})
	}
	if _, err := h.Publish(context.Background(), Event{Topic: "t", Data: make([]byte, h.o.MaxEventBytes)}); err != nil {
		t.Fatal(err)
	}
	if got := told(t, h, h.id(20), "t"); !slices.Equal(got, []string{"E 21 t"}) {
		t.Errorf("got %q", got)
	}
}

// TestMemberFilters: the registry hears of all that a client asked for.
func TestMemberFilters(t *testing.T) {
	h := newHub(t, Options{})
	j, refused := h.Handler(nil).parse(&ask{method: "GET", query: "topic=a/*&topic=a/b&topic=a/b", r: &http.Request{RemoteAddr: "192.0.2.1:1"}})
	if refused != nil || !slices.Equal(j.asked, []string{"a/*", "a/b"}) || !slices.Equal(j.filters, []string{"a/*"}) {
		t.Errorf("got %+v, %v", j, refused)
	}
}

// BenchmarkGrants has a subscriber of 1,024 patterns come to others of the same, and leave.
func BenchmarkGrants(b *testing.B) {
	h, err := New(Options{Heartbeat: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	j := new(joining)
	for i := range 1024 {
		j.filters = append(j.filters, fmt.Sprintf("tenant/%d/*/orders", i))
	}
	come := func() *idle {
		s := new(idle)
		s.sink = s
		if err := h.admit(&s.subscriber, j); err != nil {
			b.Fatal(err)
		}
		h.join(&s.subscriber, nil, j)
		return s
	}
	for range 40 {
		come()
	}
	for b.Loop() {
		h.leave(&come().subscriber)
	}
}
