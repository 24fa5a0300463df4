package sse

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// heard is a Recorder that stores everything.
type heard struct{ gaps, delays []time.Duration }

func (h *heard) Gap(d time.Duration)   { h.gaps = append(h.gaps, d) }
func (h *heard) Delay(d time.Duration) { h.delays = append(h.delays, d) }

// subscribe makes a subscriber of a stream whose sources are written as text.
func subscribe(t testing.TB, f Format, limit int, stamp, id string) *Subscriber {
	t.Helper()
	c := Config{Format: f, Limit: limit}
	var err error
	if c.Stamp, err = ParseSource(stamp); err != nil {
		t.Fatal(err)
	}
	if c.ID, err = ParseSource(id); err != nil {
		t.Fatal(err)
	}
	stream, err := NewStream(c)
	if err != nil {
		t.Fatal(err)
	}
	s := new(Subscriber)
	s.Init(stream)
	return s
}

func feed(t testing.TB, r *Reader, s *Subscriber, now, wall int64, parts ...[]byte) {
	t.Helper()
	for _, p := range parts {
		if err := r.Feed(s, p, now, wall); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSubscriberSize(t *testing.T) {
	if got := unsafe.Sizeof(Subscriber{}); got > 208 {
		t.Errorf("a Subscriber has %d bytes", got)
	}
}

func TestSubscriber(t *testing.T) {
	const wall = 1_700_000_000_500_000_000
	for _, c := range []struct {
		name      string
		format    Format
		stamp, id string
		text      string
		events    uint64
		missed    uint64
		repeated  uint64
		delays    []time.Duration
	}{
		{
			"ids of events", Events, "ts", "@id",
			"id: 5\ndata: {\"ts\":1700000000.25,\"x\":1}\n\nid: 6\ndata: {\"ts\":1700000000}\n\nid: 9\ndata: x\n\nid: 9\ndata\n\nid: 8\ndata: x\n\nid: 10\ndata: x\n\n",
			6, 2, 2,
			[]time.Duration{250 * time.Millisecond, 500 * time.Millisecond},
		},
		{
			"a block without data is no event", Events, "", "@id",
			"id: 5\n\n: ping\n\nid: 6\ndata: x\n\nretry: 5\n\nid: 8\ndata: x\n\n", 2, 1, 0, nil,
		},
		{
			"the data begins with the time", Events, "@data", "",
			"data: 1700000000400000000 and more 7\n\ndata: none\n\n", 2, 0, 0,
			[]time.Duration{100 * time.Millisecond},
		},
		{
			"a field of its own", Events, "@sent", "seq",
			"sent: 1700000000499\ndata: {\"seq\":1}\n\nsent: 1700000000501\ndata: {\"seq\":\"3\"}\n\n", 2, 1, 0,
			[]time.Duration{time.Millisecond, -time.Millisecond},
		},
		{
			"ids that are names, and one that is not", Events, "@data", "@id",
			"id: 5-1\ndata: 1700000000|x\n\nid: 9a\ndata: x\n\nid: 0xff\ndata: x\n\nid: 3\ndata: x\n\nid: 5\ndata: x\n\n", 5, 1, 0,
			[]time.Duration{500 * time.Millisecond},
		},
		{
			"JSON in lines", Lines, "meta.at", "n",
			`{"n":1,"other":{"meta":{"at":1}},"meta":{"at":"1700000000500000"}}` + "\n" + `{"meta":[{"at":1}],"n":4}` + "\n",
			2, 2, 0,
			[]time.Duration{0},
		},
		{
			"JSON in frames", Varint, "ts", "n",
			framed(Varint, `{"ts":1700000000500,"n":2}`, "", `{"n":3}`), 3, 0, 0,
			[]time.Duration{0},
		},
		{
			"JSON over several lines of data", Events, "ts", "",
			"data: {\"a\": [\"}\",\ndata: {}],\ndata: \"ts\":\ndata: 1700000000\ndata: }\n\n", 1, 0, 0,
			[]time.Duration{500 * time.Millisecond},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range [][][]byte{{[]byte(c.text)}, bytewise(c.text)} {
				var h heard
				s := subscribe(t, c.format, 0, c.stamp, c.id)
				feed(t, NewReader(&h), s, 0, wall, cut...)
				if s.Events != c.events || s.Missed != c.missed || s.Duplicated != c.repeated || s.Bytes != uint64(len(c.text)) {
					t.Errorf("got %+v", s.Counts)
				}
				if !slices.Equal(h.delays, c.delays) {
					t.Errorf("delays %v, want %v", h.delays, c.delays)
				}
			}
		})
	}
}

func TestGaps(t *testing.T) {
	var h heard
	r, s := NewReader(&h), subscribe(t, Events, 0, "", "")
	feed(t, r, s, 100, 0, []byte("data: 1\n\ndata: 2\n\ndata: 3"))
	feed(t, r, s, 130, 0, []byte("\n\n: quiet\n"))
	s.Reconnect()
	feed(t, r, s, 190, 0, []byte("data: 4\n\n"))
	if want := []time.Duration{0, 30, 60}; !slices.Equal(h.gaps, want) {
		t.Errorf("gaps %v, want %v", h.gaps, want)
	}
	if s.Cut != 0 || s.Comments != 1 {
		t.Errorf("got %+v", s.Counts)
	}
}

func TestReconnect(t *testing.T) {
	r, s := NewReader(&heard{}), subscribe(t, Events, 0, "", "@id")
	step := func(text, last string) {
		t.Helper()
		feed(t, r, s, 0, 0, bytewise(text)...)
		if got := string(s.LastID()); got != last {
			t.Errorf("after %q the last id is %q, want %q", text, got, last)
		}
	}
	step("id: 41\ndata: x\n\n", "41")
	step("data: an id stays\n\n", "41")
	step("id: 7\x007\nid: 42\nid: 43\x00\ndata: x\n\n", "42")
	step("id: 43\ndata: x\n", "42") // not yet
	s.Reconnect()
	step("", "42")
	step("id: 42\ndata: again\n\nid: 43\ndata: x\n\n", "43")
	if s.Events != 5 || s.Missed != 0 || s.Duplicated != 1 || s.Cut != 1 {
		t.Errorf("got %+v", s.Counts)
	}
	step("id\n\n", "")
	step("id: "+strings.Repeat("9", maxID)+"\ndata: x\n\n", strings.Repeat("9", maxID))
	step("id: "+strings.Repeat("8", maxID+1)+"\ndata: x\n\n", strings.Repeat("9", maxID))
	if s.Oversized != 1 {
		t.Errorf("an id over the limit: %+v", s.Counts)
	}
}

func TestRetry(t *testing.T) {
	r, s := NewReader(&heard{}), subscribe(t, Events, 0, "", "")
	if _, said := s.Retry(); said {
		t.Error("a wait before the server said one")
	}
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"retry: 2500\n", 2500 * time.Millisecond},
		{"retry: 3 s\nretry: -1\nretry\nretry:\n", 2500 * time.Millisecond},
		{"retry: 0\n", 0},
		{"retry: 99999999999999999999999\n", (1<<32 - 2) * time.Millisecond},
	} {
		feed(t, r, s, 0, 0, bytewise(c.text)...)
		if got, said := s.Retry(); !said || got != c.want {
			t.Errorf("after %q: %v, %v, want %v", c.text, got, said, c.want)
		}
	}
}

// An event over the limit is not counted, but its fields before the limit have an effect.
func TestOversized(t *testing.T) {
	r, s := NewReader(&heard{}), subscribe(t, Events, 50, "", "@id")
	long := strings.Repeat("x", 60)
	feed(t, r, s, 0, 0, bytewise("id: 1\ndata: x\n\nid: 2\ndata: "+long+"\n\nid: 3\ndata: x\n\ndata: "+long+"\nid: 4\n\nid: 5\ndata: x\n\n")...)
	if s.Events != 3 || s.Oversized != 2 || s.Missed != 1 || string(s.LastID()) != "5" {
		t.Errorf("got %+v, last id %q", s.Counts, s.LastID())
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		text string
		unit Unit
		want int64 // 0: none
	}{
		{"1700000000", Auto, 1_700_000_000e9},
		{"1700000000.123456789", Auto, 1_700_000_000_123_456_789},
		{"1700000000123", Auto, 1_700_000_000_123e6},
		{"1700000000123.5", Auto, 1_700_000_000_123_500e3},
		{"1700000000123456", Auto, 1_700_000_000_123_456e3},
		{"1700000000123456789", Auto, 1_700_000_000_123_456_789},
		{"100000000000", Auto, 100_000_000_000e6},
		{"5", Milliseconds, 5e6},
		{"5", Nanoseconds, 5},
		{"5.9", Nanoseconds, 5},
		{"0005", Seconds, 5e9},
		{"1700000000.12345678901234567890", Auto, 1_700_000_000_123_456_789},
		{"99999999999", Seconds, 0},              // beyond 2262
		{"99999999999999999999", Nanoseconds, 0}, // beyond 64 bits
		{"1.7e9", Auto, 0},
		{"", Auto, 0},
		{"-5", Auto, 0},
		{"x", Auto, 0},
		{".5", Auto, 0},
	} {
		var f finder
		f.feed([]byte(c.text), nil)
		got, ok := f.time(c.unit)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%q in %v: %d, %v, want %d", c.text, c.unit, got, ok, c.want)
		}
	}
	for u := Auto; u <= Nanoseconds; u++ {
		if got, err := ParseUnit(u.String()); got != u || err != nil {
			t.Errorf("%v: %v, %v", u, got, err)
		}
	}
	if _, err := ParseUnit("minutes"); err == nil {
		t.Error("minutes are a unit")
	}
}

// lookup returns what a finder should find in valid JSON.
func lookup(text string, path []string) (uint64, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return 0, false
	}
	for _, key := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return 0, false
		}
		if v, ok = object[key]; !ok {
			return 0, false
		}
	}
	if quoted, ok := v.(string); ok {
		v = json.Number(quoted)
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	var u uint64
	_, err := fmt.Sscanf(n.String(), "%d", &u)
	return u, err == nil && fmt.Sprint(u) == n.String()
}

// TestFinder compares the finder with encoding/json on random documents.
func TestFinder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	keys := []string{"a", "ab", "b", "ts", `t\"s`, "\u00e9", ""}
	var value func(depth int) any
	value = func(depth int) any {
		switch n := r.IntN(8); {
		case n < 2 && depth < 4:
			object := map[string]any{}
			for range r.IntN(5) {
				object[keys[r.IntN(len(keys))]] = value(depth + 1)
			}
			return object
		case n == 2 && depth < 4:
			var list []any
			for range r.IntN(4) {
				list = append(list, value(depth+1))
			}
			return list
		case n == 3:
			return []string{`}"{`, `a\`, "", "[", `","ts":1`, "17"}[r.IntN(6)]
		case n == 4:
			return r.IntN(2) == 0
		}
		return r.IntN(1000)
	}
	found := 0
	for range 20_000 {
		document := map[string]any{"a": value(0), "b": value(0), "ts": value(0)}
		b, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 {
			if b, err = json.MarshalIndent(document, " ", "\t"); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range [][]string{{"ts"}, {"a", "ts"}, {"b", "ab", "a"}} {
			var f finder
			for _, p := range pieces(string(b), r) {
				f.feed(p, path)
			}
			got, ok := f.integer()
			want, should := lookup(string(b), path)
			if ok != should || got != want && ok {
				t.Fatalf("%v in %s: %d, %v, want %d, %v", path, b, got, ok, want, should)
			}
			if ok {
				found++
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d found", found)
	}
}

// Invalid JSON has no effect on later records, and does not panic.
func FuzzFinder(f *testing.F) {
	f.Add(`{"ts":1}`)
	f.Add(`{"a":{"b":[1,2,{"ts":"\\\""}]},"ts":1.5e3`)
	f.Fuzz(func(t *testing.T, text string) {
		s := subscribe(t, Varint, 0, "a.ts", "ts")
		feed(t, NewReader(&heard{}), s, 0, 0, bytewise(framed(Varint, text, `{"ts":7}`))...)
		if s.Events != 2 || !s.known {
			t.Errorf("got %+v", s.Counts)
		}
	})
}

func TestConfig(t *testing.T) {
	for _, text := range []string{"@", "@a b", "a..b", ".", "@a:b", strings.Repeat("a.", 20) + "a"} {
		if got, err := ParseSource(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, c := range []Config{
		{Limit: -1},
		{Format: Lines, Stamp: Source{Field: "id"}},
		{Format: Events, Stamp: Source{Field: "a"}, ID: Source{Field: "b"}},
	} {
		if _, err := NewStream(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if _, err := NewStream(Config{Stamp: Source{Field: "a"}, ID: Source{Field: "a", Path: []string{"n"}}}); err != nil {
		t.Error(err)
	}
}

type nobody struct{}

func (nobody) Gap(time.Duration)   {}
func (nobody) Delay(time.Duration) {}

func TestAllocations(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
	}{
		{Events, "id: 12345678\nevent: x\ndata: {\"ts\":1700000000,\"text\":\"hello\"}\n\n"},
		{Lines, "{\"ts\":1700000000}\n"},
		{Length4, framed(Length4, `{"ts":1700000000}`)},
	} {
		id := ""
		if c.format == Events {
			id = "@id"
		}
		r, s := NewReader(nobody{}), subscribe(t, c.format, 0, "ts", id)
		text := []byte(c.text)
		feed(t, r, s, 0, 0, text)
		if n := testing.AllocsPerRun(100, func() { feed(t, r, s, 0, 0, text[:15], text[15:]) }); n != 0 {
			t.Errorf("format %d: %v allocations", c.format, n)
		}
	}
}

func BenchmarkFeed(b *testing.B) {
	text := []byte("id: 12345678\ndata: {\"ts\":1700000000000,\"text\":\"hello\"}\n\n")
	r, s := NewReader(nobody{}), subscribe(b, Events, 0, "ts", "@id")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		feed(b, r, s, 0, 0, text)
	}
}
