package push

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestReadBounded wants a page that finds nothing to end before it has looked at everything, and the
// pages after it to find what there is.
func TestReadBounded(t *testing.T) {
	h := newHub(t, Options{})
	h.mu.Lock()
	h.history.most = 64
	h.mu.Unlock()
	publish(t, h, Event{Topic: "t/first/y"})
	for i := range 10_000 {
		publish(t, h, Event{Topic: fmt.Sprintf("t/%d/x", i%1000)})
	}
	last := publish(t, h, Event{Topic: "t/last/y"}).ID
	for _, backward := range []bool{false, true} {
		found, from := 0, ""
		for pages, at := 0, uint64(0); ; pages++ {
			p, err := h.Read(context.Background(), Range{Topics: []string{"*/*/y"}, From: from, Backward: backward})
			if err != nil || pages > 20 {
				t.Fatal(pages, err)
			}
			found += len(p.Events)
			if from = p.Next; from == "" {
				if pages < 4 {
					t.Errorf("backward %v: %d pages, want more", backward, pages)
				}
				break
			}
			now, ours := h.position(from)
			if backward {
				now = h.seq + 1 - now
			}
			if !ours || now <= at || now > at+(readTurns+1)*64+2 {
				t.Errorf("backward %v: a page looked at %d to %d", backward, at, now)
			}
			at = now
		}
		if found != 2 {
			t.Errorf("backward %v: found %d events, want 2", backward, found)
		}
	}
	if p, err := h.Read(context.Background(), Range{Topics: []string{"*/*/y"}, From: last}); err != nil || len(p.Events) > 0 || p.Next != "" || p.Position != last {
		t.Errorf("after the last: %+v, %v", p, err)
	}
}

// TestReadLeaves wants nothing of a page to stay in the hub, also of one that was given up.
func TestReadLeaves(t *testing.T) {
	b := &gated{last: 1000}
	h := newGated(t, b, Options{})
	before := h.bytes.Load()
	for i := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err := h.Read(ctx, Range{Topics: []string{"held"}, From: h.id(uint64(i + 2)), Backward: i%2 > 0})
			if err == nil {
				t.Error("there is a page of what the broker holds back")
			}
		}()
		until(t, "it waits for the broker", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.cluster.reads.by) > 0
		})
		cancel()
		<-ended
		until(t, "nobody waits", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			q := &h.cluster.reads
			return len(q.by) == 0 && q.running == 0 && len(q.origins) == 0
		})
	}
	if n := h.bytes.Load(); n > before+topicBytes("held") {
		t.Errorf("%d bytes, want %d", n, before)
	}
	if h.limits.total() != 0 {
		t.Error("a page counts as a subscriber")
	}
}

// TestPagesCount wants pages that are on their way to have a bound, and one client not all of it.
func TestPagesCount(t *testing.T) {
	h := newHub(t, Options{MaxBytes: 16 << 20})
	p := &h.pages
	const page = 100 << 10
	n := 0
	for ; p.take(h, "a", page); n++ {
	}
	if n != 5 {
		t.Errorf("one client has %d pages, want 5", n)
	}
	p.give(h, "a", page)
	if !p.take(h, "b", page) {
		t.Error("another client gets none")
	}
	for range n {
		p.give(h, "a", page)
	}
	p.give(h, "b", page)
	if !p.take(h, "a", 32<<20) {
		t.Error("a page that is larger than all is not sent")
	}
	p.give(h, "a", 32<<20)
	if h.bytes.Load() != 0 || p.total != 0 || len(p.by) != 0 {
		t.Errorf("%d bytes, %d of pages remain", h.bytes.Load(), p.total)
	}
}

// TestPageRevokedMeanwhile: a page counts while it is read, and those whose right was withdrawn meanwhile do
// not get it.
func TestPageRevokedMeanwhile(t *testing.T) {
	b := &gated{last: 10, gate: make(chan struct{})}
	h := newGated(t, b, Options{})
	handler := h.Handler(func(*http.Request) ([]string, error) { return []string{"t"}, nil })
	handler.User = func(*http.Request) string { return "ann" }
	before := h.bytes.Load()
	w, ended := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(ended)
		handler.History().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?from="+h.id(2), nil))
	}()
	until(t, "it waits for the broker", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.replays > 0
	})
	if n := h.bytes.Load() - before; n < pageBytes {
		t.Errorf("%d bytes are counted for a page that is read, want %d", n, pageBytes)
	}
	end(t, h, Ending{User: "ann", Until: time.Now().Add(time.Hour)}, 0)
	close(b.gate)
	<-ended
	if w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if h.pages.total != 0 || len(h.pages.by) != 0 {
		t.Errorf("%d bytes of pages remain", h.pages.total)
	}
}
