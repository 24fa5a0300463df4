package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/memory"
	"github.com/redline-go/redline/push/pushtest"
)

// pagesOf reads a range to its end, and returns the data of all events, the gaps, and the last position.
func pagesOf(t *testing.T, hub *push.Hub, r push.Range) (data []string, gaps []string, last string) {
	t.Helper()
	for range 1000 {
		p, err := hub.Read(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Events) > r.Limit {
			t.Fatalf("%d events, want at most %d", len(p.Events), r.Limit)
		}
		for _, e := range p.Events {
			data = append(data, string(e.Data))
		}
		if p.Gap != nil {
			gaps = append(gaps, p.Gap.Reason)
		}
		if r.From, last = p.Next, p.Position; p.Next == "" {
			return data, gaps, last
		}
	}
	t.Fatal("there is always a next page")
	return nil, nil, ""
}

// TestRead reads what is held by pages of all sizes, in both directions, by names and patterns, from
// memory and from the broker: that are the events that a subscriber gets.
func TestRead(t *testing.T) {
	for name, o := range map[string]push.Options{
		"alone":                  {},
		"broker":                 {Broker: memory.NewBroker(10_000)},
		"broker, short history":  {Broker: memory.NewBroker(10_000), History: push.History{Events: 3}},
		"broker, without memory": {Broker: memory.NewBroker(10_000), History: push.History{Events: -1}},
	} {
		t.Run(name, func(t *testing.T) { testRead(t, pushtest.Hub(t, o)) })
	}
}

func testRead(t *testing.T, hub *push.Hub) {
	pushtest.Until(t, "the hub is ready", hub.Ready)
	topics := []string{"a/1", "a/2", "b", "c/1/2"}
	for i := range 12 {
		topics = append(topics, fmt.Sprintf("d/%d", i))
	}
	all := map[string][]string{}
	var order [][2]string
	for i := range 120 {
		e := [2]string{topics[i*i%len(topics)], fmt.Sprint(i)}
		pushtest.Publish(t, hub, e[0], e[1])
		order = append(order, e)
		all[e[0]] = append(all[e[0]], e[1])
	}
	s := pushtest.Open(t, pushtest.Plain(t, hub.Handler(nil)), pushtest.Query{Topics: []string{"**"}, LastID: "earliest"})
	for range order { // with a broker the hub has them when they have come back
		s.Next()
	}
	middle := pushtest.Publish(t, hub, "b", "m").ID
	order = append(order, [2]string{"b", "m"}, [2]string{"a/1", "end"})
	pushtest.Publish(t, hub, "a/1", "end")
	s.Want("m", "end")
	for _, filters := range [][]string{{"a/1"}, {"b", "a/2"}, {"a/*", "b"}, {"**"}, {"d/*"}, {"nosuch/*"}, {"nosuch"}, {"a/1", "a/*"}} {
		var want []string
		before := 0 // of them, how many come before the one in the middle
		for i, e := range order {
			if matches(filters, e[0]) {
				want = append(want, e[1])
				if i < len(order)-2 {
					before++
				}
			}
		}
		for _, limit := range []int{1, 7, 1000} {
			r := push.Range{Topics: filters, Limit: limit}
			got, gaps, last := pagesOf(t, hub, r)
			if !slices.Equal(got, want) || len(gaps) > 0 || last != hub.Position() {
				t.Errorf("%v by %d: got %v, gaps %v, want %v", filters, limit, got, gaps, want)
			}
			r.Backward = true
			backward := slices.Clone(want)
			slices.Reverse(backward)
			if got, gaps, _ := pagesOf(t, hub, r); !slices.Equal(got, backward) || len(gaps) > 0 {
				t.Errorf("%v by %d backward: got %v, gaps %v, want %v", filters, limit, got, gaps, backward)
			}
			r.From = middle
			if got, _, _ := pagesOf(t, hub, r); !slices.Equal(got, backward[len(want)-before:]) {
				t.Errorf("%v by %d backward from the middle: got %v, want %v", filters, limit, got, backward[len(want)-before:])
			}
			r.Backward = false
			if got, _, _ := pagesOf(t, hub, r); slices.Contains(got, "m") || slices.Contains(got, "end") != matches(filters, "a/1") || len(got) > 1 {
				t.Errorf("%v by %d from the middle: got %v", filters, limit, got)
			}
		}
	}
}

func matches(filters []string, name string) bool {
	return slices.ContainsFunc(filters, func(f string) bool {
		return f == name || f == "**" || strings.HasSuffix(f, "/*") && strings.HasPrefix(name, f[:len(f)-1]) && !strings.Contains(name[len(f)-1:], "/")
	})
}

// TestReadGaps wants a page to say what it does not have.
func TestReadGaps(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{History: push.History{Events: 5}})
	var ids []string
	for i := range 10 {
		ids = append(ids, pushtest.Publish(t, hub, "t", fmt.Sprint(i)).ID)
	}
	read := func(r push.Range) push.Page {
		t.Helper()
		r.Topics = []string{"t"}
		p, err := hub.Read(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := read(push.Range{From: ids[1]}); p.Gap == nil || p.Gap.Reason != "history" || p.Gap.From != ids[1] || p.Gap.To != ids[5] || len(p.Events) != 5 {
		t.Errorf("after an event that is dropped: %+v %+v", p, p.Gap)
	}
	if p := read(push.Range{From: ids[5]}); p.Gap != nil || len(p.Events) != 4 {
		t.Errorf("after the oldest: %+v", p)
	}
	if p := read(push.Range{Backward: true, Limit: 3}); p.Gap != nil || p.Next == "" {
		t.Errorf("backward, not to the end: %+v %+v", p, p.Gap)
	}
	if p := read(push.Range{Backward: true}); p.Gap == nil || p.Gap.To != ids[5] || p.Next != "" {
		t.Errorf("backward, to the end: %+v %+v", p, p.Gap)
	}
	for from, reason := range map[string]string{"0123456789abcdef-3": "epoch", "nosuch": "unknown-id", hub.Position() + "9": "unknown-id"} {
		for _, backward := range []bool{false, true} {
			if p := read(push.Range{From: from, Backward: backward}); p.Gap == nil || p.Gap.Reason != reason {
				t.Errorf("from %s, backward %v: %+v", from, backward, p.Gap)
			}
		}
	}
	for _, r := range []push.Range{{}, {Topics: []string{"a/**/b"}}, {Topics: []string{"t"}, Limit: 1001}, {Topics: []string{"t"}, Limit: -1}} {
		if _, err := hub.Read(t.Context(), r); !errors.Is(err, push.ErrBadRange) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := hub.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Read(t.Context(), push.Range{Topics: []string{"t"}}); !errors.Is(err, push.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestReadLarge wants a page of large events to end before it is large, with at least one.
func TestReadLarge(t *testing.T) {
	for name, o := range map[string]push.Options{
		"alone":  {History: push.History{Bytes: 1 << 30}},
		"broker": {Broker: memory.NewBroker(1000), History: push.History{Events: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			hub := pushtest.Hub(t, o)
			pushtest.Until(t, "the hub is ready", hub.Ready)
			var want []string
			for i := range 40 {
				size := []int{10, 100 << 10, 400 << 10}[i%3]
				want = append(want, fmt.Sprintf("%0*d", size, i))
				pushtest.Publish(t, hub, "t", want[i])
			}
			pushtest.Until(t, "the hub has them", func() bool { return strings.HasSuffix(hub.Position(), "-40") })
			for _, backward := range []bool{false, true} {
				r := push.Range{Topics: []string{"t"}, Backward: backward, Limit: 1000}
				for n := 0; ; n++ {
					p, err := hub.Read(t.Context(), r)
					if err != nil || n > 100 {
						t.Fatal(n, err)
					}
					size := 0
					for _, e := range p.Events {
						size += len(e.Data)
					}
					if len(p.Events) > 1 && size > 256<<10 {
						t.Errorf("a page of %d events and %d bytes", len(p.Events), size)
					}
					if r.From = p.Next; p.Next == "" {
						break
					}
				}
				got, _, _ := pagesOf(t, hub, push.Range{Topics: []string{"t"}, Backward: backward, Limit: 1000})
				if backward {
					slices.Reverse(got)
				}
				if !slices.Equal(got, want) {
					t.Errorf("backward %v: %d events, want %d", backward, len(got), len(want))
				}
			}
		})
	}
}

// TestReadWaits wants a page that the broker has to wait for it, as a subscriber does, until ctx is done.
func TestReadWaits(t *testing.T) {
	broker := memory.NewBroker(1000)
	hub := pushtest.Hub(t, push.Options{Broker: broker, History: push.History{Events: -1}})
	pushtest.Until(t, "the hub is ready", hub.Ready)
	pushtest.Publish(t, hub, "t", "x")
	pushtest.Until(t, "the hub has it", func() bool { return strings.HasSuffix(hub.Position(), "-1") })
	broker.SetDown(true)
	for _, backward := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() {
			_, err := hub.Read(ctx, push.Range{Topics: []string{"t"}, From: at(hub, 0, backward), Backward: backward})
			got <- err
		}()
		select {
		case err := <-got:
			t.Fatalf("backward %v: did not wait: %v", backward, err)
		default:
		}
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("backward %v: %v", backward, err)
		}
	}
	broker.SetDown(false)
	if got, _, _ := pagesOf(t, hub, push.Range{Topics: []string{"t"}, From: at(hub, 0, false), Limit: 1}); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// at is a position of a hub, or "" for the newest event.
func at(hub *push.Hub, seq int, backward bool) string {
	if backward {
		return ""
	}
	here := hub.Position()
	return fmt.Sprintf("%s-%d", here[:strings.LastIndex(here, "-")], seq)
}

// TestHistory asks for pages by HTTP, on each server: who may not listen may not read either.
func TestHistory(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) { testHistory(t, serve) })
	}
}

func testHistory(t *testing.T, serve pushtest.Serve) {
	hub := pushtest.Hub(t, push.Options{})
	h := hub.Handler(func(r *http.Request) ([]string, error) {
		switch r.Header.Get("X-User") {
		case "ann":
			return []string{"a/*"}, nil
		case "":
			return nil, push.ErrUnauthorized
		}
		return nil, errors.New("no")
	})
	h.Origins = []string{"https://example.com"}
	url0 := serve(t, h.History())
	pushtest.Publish(t, hub, "a/1", `{"n":1}`)
	pushtest.Publish(t, hub, "b", "secret")
	second := pushtest.Publish(t, hub, "a/2", "text").ID
	ann := http.Header{"X-User": {"ann"}, "Accept": {"application/json"}, "Origin": {"https://example.com"}}
	get := func(method, query string, header http.Header) (int, string, http.Header) {
		t.Helper()
		return pushtest.Refused(t, method, url0+"?"+query, header)
	}
	status, text, got := get("GET", "order=newest", ann)
	want := fmt.Sprintf(`{"events":[{"topic":"a/2","id":%q,"data":"text"},{"topic":"a/1","id":%q,"data":{"n":1}}],"position":%q}`+"\n", second, at(hub, 1, false), second)
	if status != 200 || text != want || got.Get("Content-Type") != "application/json" || got.Get("Cache-Control") != "no-store" || got.Get("ETag") != "" ||
		got.Get("Access-Control-Allow-Origin") != "https://example.com" {
		t.Errorf("%d %s\n%v, want\n%s", status, text, got, want)
	}
	var page struct {
		Events         []json.RawMessage
		Next, Position string
		Gap            *pushtest.Gap
	}
	if _, text, _ = get("GET", "topic=a/*&limit=1", ann); json.Unmarshal([]byte(text), &page) != nil || len(page.Events) != 1 || page.Next == "" || page.Gap != nil {
		t.Errorf("one: %s", text)
	}
	if _, text, _ = get("GET", "limit=1&from="+url.QueryEscape(page.Next), ann); !strings.Contains(text, `"text"`) {
		t.Errorf("the next: %s", text)
	}
	if _, text, _ = get("GET", "from=nosuch", ann); !strings.Contains(text, `"gap":{"from":"nosuch","to":`) || !strings.Contains(text, "unknown-id") {
		t.Errorf("an unknown ID: %s", text)
	}
	if status, text, got = get("HEAD", "topic=a/1", ann); status != 200 || text != "" || got.Get("Content-Type") != "application/json" || got.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD: %d %q %v", status, text, got)
	}
	if status, _, got = get("OPTIONS", "", ann); status != 204 || got.Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("OPTIONS: %d %v", status, got)
	}
	testHistoryRefused(t, get)
	if n := hub.Stats(); n.Subscribers != 0 || n.Delivered != 0 {
		t.Errorf("a page counts as a subscriber: %+v", n)
	}
	_ = hub.Close()
	if status, _, got := get("GET", "topic=a/1", ann); status != 503 || got.Get("Retry-After") == "" {
		t.Errorf("closed: %d %v", status, got)
	}
}

// testHistoryRefused asks for pages that there are not, or not for those who ask.
func testHistoryRefused(t *testing.T, get func(method, query string, header http.Header) (int, string, http.Header)) {
	t.Helper()
	for _, c := range []struct {
		method, query, user string
		status              int
	}{
		{"GET", "topic=b", "ann", 403},
		{"GET", "topic=**", "ann", 403},
		{"HEAD", "topic=b", "ann", 403},
		{"GET", "topic=a/1", "", 401},
		{"GET", "topic=a/1", "bob", 403},
		{"POST", "topic=a/1", "ann", 405},
		{"GET", "topic=a/1&limit=0", "ann", 400},
		{"GET", "topic=a/1&limit=1001", "ann", 400},
		{"GET", "topic=a/1&order=random", "ann", 400},
		{"GET", "topic=a/1&from=%00", "ann", 400},
		{"GET", "topic=a/**/b", "ann", 400},
		{"GET", "topic=a%zz", "ann", 400},
	} {
		status, text, got := get(c.method, c.query, http.Header{"X-User": {c.user}})
		if status != c.status || got.Get("Cache-Control") != "no-store" || strings.Contains(text, "secret") {
			t.Errorf("%s ?%s as %q: %d %q, want %d", c.method, c.query, c.user, status, text, c.status)
		}
	}
}
