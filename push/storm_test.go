package push

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/push/format"
)

// make push-faults runs the faults at ten times the size.
var scale = flag.Int("scale", 1, "multiply the subscribers and events of the tests of faults")

// Scale is scale, for the tests outside of the package.
func Scale() int { return *scale }

// bulky is plainText with the data of events, which listeners skip.
type bulky struct{ plainText }

func (bulky) AppendEvent(b []byte, e *format.Event) []byte {
	return append(append(plainText{}.AppendEvent(b, e), e.Data...), "x\n"...)
}

// storm returns a hub for a fault, and at the end of the test wants nothing to remain of its
// subscribers: no goroutine, and no memory but that of the history.
func storm(t *testing.T, o Options) *Hub {
	t.Helper()
	before := runtime.NumGoroutine()
	o.Formats, o.Heartbeat, o.Lifetime = []format.Format{bulky{}}, -1, -1
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		forgetAll(h)
		if st := h.Stats(); st.Subscribers != 0 || st.Bytes != 0 {
			t.Errorf("this is left: %+v", st)
		}
		_ = h.Close()
		for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
				break
			}
		}
	})
	return h
}

func mustPublish(t testing.TB, h *Hub, e Event) string {
	r, err := h.Publish(context.Background(), e)
	if err != nil {
		t.Errorf("publish: %v", err)
	}
	if n := h.bytes.Load(); n > h.o.MaxBytes {
		t.Errorf("%d bytes, more than MaxBytes", n)
	}
	return r.ID
}

// inParts calls f for each of n from several goroutines.
func inParts(n int, f func(i int)) {
	var parts sync.WaitGroup
	for p := range 8 {
		parts.Go(func() {
			for i := p; i < n; i += 8 {
				f(i)
			}
		})
	}
	parts.Wait()
}

// TestStormLeaves: all subscribers leave at once, while events are published.
func TestStormLeaves(t *testing.T) {
	n := 1000 * *scale
	h := storm(t, Options{})
	all := make([]*listener, n)
	inParts(n, func(i int) { all[i] = listen(t, h, nil, &joining{filters: []string{"t", "u/*"}}) })
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				mustPublish(t, h, Event{Topic: fmt.Sprint("u/", i%10)})
			}
		}
	}()
	inParts(n, func(i int) {
		all[i].turn()
		all[i].leave()
	})
	close(stop)
	<-done
}

// TestStormReturns: many subscribers come at once with the ID of their last event, to the same
// hub or to one that has begun anew, while events are published. Each gets everything after its
// ID that is held.
func TestStormReturns(t *testing.T) {
	n, held := 1000**scale, 200
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted ", restarted), func(t *testing.T) {
			h := storm(t, Options{History: History{Events: 100_000, Bytes: 1 << 30}, QueueEvents: 1 << 16})
			last := h.id(0)
			for i := range held {
				mustPublish(t, h, Event{Topic: fmt.Sprint("t/", i%7)})
			}
			if restarted {
				last = "0123456789abcdef-7"
			}
			const more = 100
			go func() {
				for i := range more {
					mustPublish(t, h, Event{Topic: fmt.Sprint("t/", i%7)})
				}
			}()
			inParts(n, func(int) {
				l := listen(t, h, nil, &joining{filters: []string{"t/*"}, lastID: last})
				l.follow(uint64(held + more))
				if gaps := l.gaps; l.events != held+more || restarted != (gaps == 1) || restarted && !l.gapFirst {
					t.Errorf("%d events and %d gaps", l.events, gaps)
				}
				l.leave()
			})
		})
	}
}

// TestStormStalls: 900 of 1,000 subscribers stop reading, on loops or not. The others get every
// event; those that read again get a gap with the exact number of what they have missed.
func TestStormStalls(t *testing.T) {
	const n, stalled = 1000, 900
	h := storm(t, Options{QueueEvents: 16, MaxBytes: 64 << 20})
	loop := newLooping()
	var all []*listener
	for i := range n {
		j := &joining{filters: []string{"t"}}
		if i%2 == 0 {
			all = append(all, loop.listen(t, h, j))
		} else {
			all = append(all, listen(t, h, nil, j))
		}
		if i < stalled {
			all[i].room = 1000
		}
	}
	events := 200 * *scale
	data := []byte(strings.Repeat("x", 100))
	receive := func(reads func(i int) bool) {
		loop.run()
		for i, l := range all {
			if l.receive(); reads(i) {
				l.read()
			}
		}
		loop.run()
	}
	for range events {
		mustPublish(t, h, Event{Topic: "t", Data: data})
		receive(func(i int) bool { return i >= stalled })
	}
	for range 10 {
		receive(func(int) bool { return true })
	}
	for i, l := range all {
		l.account(uint64(events) + 1)
		if l.events+l.dropped != events || i >= stalled && l.dropped > 0 || i < stalled && l.dropped == 0 {
			t.Errorf("listener %d: %d events, and %d are said to be dropped, of %d", i, l.events, l.dropped, events)
		}
		l.leave()
	}
}

// TestStormLarge: a publisher of events of 10 MB, with subscribers that read nothing. Memory
// stays under its ceiling, because those that are furthest behind are ended with a bye.
func TestStormLarge(t *testing.T) {
	const size = 10 << 20
	h := storm(t, Options{MaxEventBytes: size, QueueBytes: 1 << 30, MaxBytes: 200 << 20})
	loop := newLooping()
	var all []*listener
	for i := range 20 {
		l := loop.listen(t, h, &joining{filters: []string{"t"}})
		if all = append(all, l); i < 10 {
			l.room = 1
		}
	}
	data := []byte(strings.Repeat("x", size))
	events := 20 * *scale
	for i := range events {
		mustPublish(t, h, Event{Topic: "t", Data: data})
		loop.run()
		for k, l := range all {
			if k >= 10 || i%7 == k%7 { // the slow ones have another event each
				l.read()
				l.receive()
			}
		}
	}
	for i, l := range all {
		l.room = 1 << 40
		for range 3 {
			l.turn()
		}
		if i >= 10 && (l.events != events || l.bye != "") {
			t.Errorf("one that reads got %d of %d events, and bye %q", l.events, events, l.bye)
		}
		if i < 10 && l.bye != "" && l.bye != "memory" {
			t.Errorf("one that does not read got bye %q", l.bye)
		}
		l.leave()
	}
	loop.run()
}

// TestStormRate: publishers that never pause, as many events as 100,000 a second bring in a
// while, and subscribers who get each of them once and in order.
func TestStormRate(t *testing.T) {
	const publishers, listeners = 4, 4
	each := 10_000 * *scale
	h := storm(t, Options{History: History{Events: 10}, QueueEvents: 1 << 20, QueueBytes: 1 << 30})
	var following sync.WaitGroup
	for range listeners {
		l := listen(t, h, nil, &joining{filters: []string{"**"}})
		following.Go(func() {
			l.follow(uint64(publishers * each))
			if l.events+l.dropped != publishers*each {
				t.Errorf("%d events, and %d dropped, of %d", l.events, l.dropped, publishers*each)
			}
			l.leave()
		})
	}
	began := time.Now()
	var publishing sync.WaitGroup
	for p := range publishers {
		publishing.Go(func() {
			for i := range each {
				mustPublish(t, h, Event{Topic: fmt.Sprint("t/", p, "/", i%100)})
			}
		})
	}
	publishing.Wait()
	following.Wait()
	t.Logf("%.0f events/s", float64(publishers*each)/time.Since(began).Seconds())
}

// TestStormMalformed: whatever a client sends as topics and IDs, and a publisher as topics, it
// gets a stream that begins with a gap, or an error of one line.
func TestStormMalformed(t *testing.T) {
	h := storm(t, Options{})
	handler := h.Handler(nil)
	mustPublish(t, h, Event{Topic: "t", ID: "own"})
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"", "t", "*", "**", "/", "\n", "\x00", "é", "\xff", h.era(), "-", "0", "1", "18446744073709551615", " ", "hub:", "own", strings.Repeat("a", 600)}
	some := func() string {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		return b.String()
	}
	for range 20_000 * *scale {
		name, id := some(), some()
		if _, err := h.Publish(t.Context(), Event{Topic: name}); err != nil && !errors.Is(err, ErrBadEvent) {
			t.Fatalf("publish to %q: %v", name, err)
		}
		j, refused := handler.parse(asked(httptest.NewRequest("GET", "/?"+url.Values{"topic": {name, "t"}, "last_event_id": {id}}.Encode(), nil)))
		switch {
		case refused != nil && (refused.status != 400 || strings.Contains(refused.text, "\n")):
			t.Fatalf("topic %q, ID %q: %d %q", name, id, refused.status, refused.text)
		case refused != nil:
			continue
		}
		s := new(idle)
		s.sink = s
		if err := h.admit(&s.subscriber, j); err != nil {
			t.Fatal(err)
		}
		h.join(&s.subscriber, nil, j)
		text := "|" + strings.Join(catchUpLines(t, h, s), "|")
		if _, ours := h.position(id); id != "" && id != "own" && !ours && !strings.Contains(text, "|G =") {
			t.Fatalf("topic %q, ID %q: %q", name, id, text)
		}
		h.leave(&s.subscriber)
	}
}
