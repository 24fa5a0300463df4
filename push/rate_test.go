package push

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// connect asks for a stream that is closed at once, and returns the answer.
func connect(h *Handler, method, address, user, lastID, accept string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, "/?topic=t", nil), httptest.NewRecorder()
	r.RemoteAddr = address
	r.Header = http.Header{"Accept": {accept}, "X-User": {user}, "Last-Event-Id": {lastID}}
	h.ServeHTTP(closing{w}, r)
	return w
}

// closing is a client that leaves when the head of a stream comes.
type closing struct{ *httptest.ResponseRecorder }

func (c closing) FlushError() error { return errors.New("closed") }

// TestConnectRate: who connects too often is asked to come later, in the way that its client understands.
// Addresses of one /64 are one; proxies do not count.
func TestConnectRate(t *testing.T) {
	const sse, any = "text/event-stream", "*/*"
	h, err := New(Options{Logger: slog.New(slog.DiscardHandler), Connects: Rate{Every: time.Hour, Burst: 3}, Resumptions: Rate{Every: time.Hour, Burst: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	handler := h.Handler(nil)
	handler.User = func(r *http.Request) string { return r.Header.Get("X-User") }
	for i, c := range []struct{ method, address, user, lastID, accept, want string }{
		{"GET", "192.0.2.1:1", "", "", sse, "200"},
		{"GET", "192.0.2.1:2", "", "earliest", sse, "200"},
		{"GET", "192.0.2.1:2", "", "earliest", any, "429 resumptions"}, // takes a connect too
		{"HEAD", "192.0.2.1:2", "", "", any, "429"},
		{"GET", "192.0.2.1:2", "", "", any, "429 connects"},
		{"GET", "192.0.2.1:2", "", "", sse, "200 limit"},
		{"GET", "192.0.2.2:2", "", "", sse, "200"},
		{"GET", "[2001:db8::1]:2", "", "earliest", sse, "200"},
		{"GET", "[2001:db8::2]:2", "", "earliest", sse, "200 limit"},
		{"GET", "[2001:db8:0:1::2]:2", "", "earliest", sse, "200"},
		{"GET", "127.0.0.1:1", "ann", "earliest", sse, "200"},
		{"GET", "10.0.0.1:1", "ann", "", sse, "200"},
		{"GET", "[::1]:1", "ann", "", any, "200"},
		{"GET", "127.0.0.1:1", "ann", "", any, "429 connects"},
		{"GET", "127.0.0.1:1", "bob", "", any, "200"},
		{"GET", "127.0.0.1:1", "", "", any, "200"},
	} {
		w := connect(handler, c.method, c.address, c.user, c.lastID, c.accept)
		status, word, _ := strings.Cut(c.want, " ")
		body := w.Body.String()
		if strconv.Itoa(w.Code) != status || !strings.Contains(body, word) || word == "limit" != strings.Contains(body, "hub:bye") {
			t.Errorf("%d %+v: %d %q", i, c, w.Code, body)
		}
		if after, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code == 429 && (err != nil || after < 1800) {
			t.Errorf("%d %+v: Retry-After is %d %v", i, c, after, err)
		}
		if word == "limit" && !strings.HasPrefix(body, "retry: 3") {
			t.Errorf("%d %+v: %q, want an hour", i, c, body) // of 3,600,000 ms
		}
	}
	if st := h.Stats(); st.Refusals["connects"] != 4 || st.Refusals["resumptions"] != 2 || st.Subscribers != 0 {
		t.Errorf("got %+v", st.Refusals)
	}
	handler.Address = func(*http.Request) string { return "10.0.0.9" } // which a proxy has named
	for range 3 {
		connect(handler, "GET", "127.0.0.1:1", "", "", any)
	}
	if w := connect(handler, "GET", "127.0.0.1:1", "", "", any); w.Code != 429 {
		t.Errorf("%d for an address that was named", w.Code)
	}
	h.clockSkew.Add(int64(time.Hour))
	if w := connect(handler, "GET", "127.0.0.1:1", "", "", any); w.Code != 200 {
		t.Errorf("%d an hour later", w.Code)
	}
}

// TestRatesHold: a client with many addresses neither fills its own bucket again by them, nor empties those of
// others, and the memory does not grow.
func TestRatesHold(t *testing.T) {
	h := newHub(t, Options{Logger: slog.New(slog.DiscardHandler)})
	before, now := h.bytes.Load(), h.now() // time stands still
	if err := h.pace(&joining{address: "203.0.113.1"}); err != nil {
		t.Fatal(err)
	}
	take := func(address string) bool { return h.rates.take(now, 'c', network(address), h.o.Connects) == 0 }
	taken := 0
	for range 100_000 {
		if !take("192.0.2.1") {
			break
		}
		taken++
	}
	if taken < h.o.Connects.Burst || taken == 100_000 {
		t.Fatalf("it was let in %d times", taken)
	}
	for i := range 200_000 {
		take(fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff))
	}
	honest := 0
	for range 1000 {
		if take("198.51.100.1") {
			honest++
		}
	}
	if honest < 1000 {
		t.Errorf("an honest address was let in %d times of 1000", honest)
	}
	again := 0
	for range 1000 {
		if take("192.0.2.1") {
			again++
		}
	}
	if again == 1000 {
		t.Error("its bucket is full again")
	}
	if got := h.bytes.Load() - before; got != 4096*rateRows*8 {
		t.Errorf("%d bytes", got)
	}
}

// TestRatesGrow: for small bursts there are more cells, and they stay within a share of MaxBytes.
func TestRatesGrow(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Options{}, 4096},
		{Options{Resumptions: Rate{Every: time.Second, Burst: 10}}, mostCells},
		{Options{Resumptions: Rate{Every: -1}, Connects: Rate{Every: time.Second}}, mostCells},
		{Options{MaxBytes: 64 << 10}, 128},
		{Options{MaxSubscribers: 100, Connects: Rate{Every: time.Hour}}, fewCells},
	} {
		h := newHub(t, c.o)
		if got := h.o.rateCells(); got != c.want {
			t.Errorf("%+v: %d cells, want %d", c.o, got, c.want)
		}
	}
}
