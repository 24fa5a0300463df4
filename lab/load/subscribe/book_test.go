package subscribe

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/redline-go/redline/lab/load/spec"
)

// taken is a Recorder that keeps all values.
type taken struct{ gaps, delays, lags []time.Duration }

func (r *taken) Gap(d time.Duration)        { r.gaps = append(r.gaps, d) }
func (r *taken) Delay(d time.Duration)      { r.delays = append(r.delays, d) }
func (r *taken) Lag(d time.Duration, _ int) { r.lags = append(r.lags, d) }

// none is a Recorder that keeps nothing.
type none struct{}

func (none) Gap(time.Duration)      {}
func (none) Delay(time.Duration)    {}
func (none) Lag(time.Duration, int) {}

const (
	get     = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"
	head    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
	chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
	epoch   = int64(1_700_000_000e9) // wall is that much before now
)

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// bookOf returns a book, and the list of subscribers whose connections it closed.
func bookOf(t *testing.T, c spec.Subscribe, n int, rec Recorder) (b *book, hung *[]int32) {
	t.Helper()
	hung = new([]int32)
	b, err := newBook(c, n, []byte(get), 10*time.Second, 0, rec)
	if err != nil {
		t.Fatal(err)
	}
	b.hangUp = func(i int32) { *hung = append(*hung, i) }
	return b, hung
}

// join connects the subscribers that may connect, and returns their requests.
func join(b *book, now int64) (requests []string) {
	b.fire(now)
	for {
		i, ok := b.next(now)
		if !ok {
			return requests
		}
		b.connected(i)
		requests = append(requests, string(b.unsent(i)))
		b.took(i, len(b.unsent(i)))
	}
}

// say feeds bytes of a connection to the book, split at random.
func say(b *book, rng *rand.Rand, i int32, text string, now int64) bool {
	for in := []byte(text); len(in) > 0; {
		n := 1 + rng.IntN(len(in))
		if !b.read(i, in[:n], now, now+epoch) {
			return false
		}
		in = in[n:]
	}
	return true
}

// The counts equal those of a server's script: missing ids, repeated ids, gaps and delays,
// over several connections per subscriber and with any split into reads. Time is virtual.
//
//archtest:long one script from beginning to end
func TestTruth(t *testing.T) {
	const subscribers, events = 40, 400
	rng := rand.New(rand.NewPCG(5, 1))
	var rec, want taken
	b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatEvents, Stamp: "sent", Unit: "us", ID: "@id", Retry: time.Second, Ends: true}, subscribers, &rec)
	b.timeout = int64(1000 * time.Hour) // subscribers receive their events one after the other
	join(b, 0)
	var missed, duplicated, cut, ends uint64
	var now int64
	for i := range int32(subscribers) {
		id, last, lastAt := uint64(rng.IntN(100)), "", int64(-1)
		back := func() {
			t.Helper()
			now += 1e9
			w := strings.TrimSuffix(get, "\r\n") + "Last-Event-ID: " + last + "\r\n\r\n"
			if got := join(b, now); !slices.Equal(got, []string{w}) {
				t.Fatalf("requests %q, want %q", got, w)
			}
			say(b, rng, i, chunked, now)
		}
		say(b, rng, i, chunked, now)
		for range events {
			now += 1 + rng.Int64N(50e6)
			send := id + 1
			switch rng.IntN(20) {
			case 0: // missing ids
				n := uint64(1 + rng.IntN(5))
				missed, send = missed+n, send+n
			case 1: // a repeated id
				if lastAt >= 0 {
					duplicated, send = duplicated+1, id-uint64(rng.IntN(int(min(id, 3))+1))
				}
			}
			if lastAt < 0 { // no id can be missing before the first
				missed -= send - id - 1
			}
			delay := rng.Int64N(3e6) / 1e3 * 1e3
			stamp := (now + epoch - delay) / 1e3
			last = fmt.Sprint(send)
			text := fmt.Sprintf("id: %s\ndata: {\"x\":[1,2],\"sent\":%d}\n\n", last, stamp)
			at := rng.IntN(len(text))
			if !say(b, rng, i, chunk(text[:at+1])+strings.TrimSuffix(chunk(text[at+1:]), "0\r\n\r\n"), now) {
				t.Fatalf("subscriber %d hung up: %s", i, b.cause())
			}
			want.delays = append(want.delays, time.Duration(now+epoch-stamp*1e3))
			if lastAt >= 0 {
				want.gaps = append(want.gaps, time.Duration(now-lastAt))
			}
			lastAt, id = now, max(id, send)
			switch rng.IntN(30) {
			case 0: // an end within an event
				say(b, rng, i, chunk("id: 9999999\ndata: {"), now)
				b.eof(i, now)
				cut++
				back()
			case 1: // a regular end
				say(b, rng, i, "0\r\n\r\n", now)
				ends++
				back()
			}
		}
	}
	script := Counts{Events: subscribers * events, Missed: missed, Duplicated: duplicated, Cut: cut, Reconnects: cut + ends, Ends: ends}
	script.Stamped, script.Numbered = script.Events, script.Events // each of them
	script.Errors[Short] = cut
	script.Connects = subscribers + script.Reconnects
	script.BytesIn, script.BytesOut = b.BytesIn, b.BytesOut
	if b.Counts != script || b.standing != subscribers || missed*duplicated*cut*ends == 0 {
		t.Errorf("counted %+v, %d standing\nwant    %+v", b.Counts, b.standing, script)
	}
	if !slices.Equal(rec.gaps, want.gaps) {
		t.Errorf("%d gaps, want %d; or different ones", len(rec.gaps), len(want.gaps))
	}
	if !slices.Equal(rec.delays, want.delays) {
		t.Errorf("%d delays, want %d; or different ones", len(rec.delays), len(want.delays))
	}
}

// Each fault is counted under its name and ends only its own connection, and the
// subscriber reconnects.
func TestFaults(t *testing.T) {
	const yes = "HTTP/1.1 200 OK\r\n"
	for _, tc := range []struct {
		name   string
		config spec.Subscribe
		say    string
		eof    bool
		want   map[string]uint64
		ends   uint64
		detail string
	}{
		{name: "status", say: "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno", want: map[string]uint64{"status": 1}, detail: "503"},
		{name: "redirect", say: "HTTP/1.1 307 Go\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n", want: map[string]uint64{"redirect": 1}, detail: "/there"},
		{name: "gzip", say: head + "Content-Encoding: gzip\r\n\r\n\x1f\x8b", want: map[string]uint64{"coding": 1}, detail: "gzip"},
		{name: "identity is no coding", say: head + "Content-Encoding: Identity\r\n\r\n: hello\n", want: map[string]uint64{}},
		{name: "media type", say: yes + "Content-Type: text/html\r\n\r\n<html>", want: map[string]uint64{"media type": 1}, detail: "text/html"},
		{name: "no media type", say: yes + "\r\n", want: map[string]uint64{"media type": 1}},
		{name: "JSON has any", config: spec.Subscribe{Format: spec.FormatLines}, say: yes + "\r\n{}\n", want: map[string]uint64{}},
		{name: "garbage", say: "220 smtp.example.org\r\n\r\n", want: map[string]uint64{"malformed": 1}},
		{name: "garbage for events", say: chunked + chunk("\x00\xff\xfe\n\n\n:\ndata\x00\n\n"), want: map[string]uint64{}},
		{name: "chunk", say: chunked + chunk("data: 1\n\n") + "zz\r\n", want: map[string]uint64{"chunk": 1}},
		{name: "chunk that is too short", say: chunked + "4\r\ndata: 1\n\n\r\n", want: map[string]uint64{"chunk": 1}},
		{name: "endless head", say: yes + "X: " + strings.Repeat("y", 70<<10), want: map[string]uint64{"header": 1}},
		{name: "endless line", say: chunked + chunk("data: "+strings.Repeat("y", 3<<20)), want: map[string]uint64{}},
		{name: "length", config: spec.Subscribe{Format: spec.FormatVarint}, say: yes + "\r\n" + strings.Repeat("\xff", 11), want: map[string]uint64{"framing": 1}},
		{name: "closed at once", eof: true, want: map[string]uint64{"closed": 1}},
		{name: "closed in the head", say: yes + "Conte", eof: true, want: map[string]uint64{"short": 1}},
		{name: "closed in a chunk", say: chunked + "100\r\ndata: ", eof: true, want: map[string]uint64{"short": 1}},
		{name: "closed between chunks", say: chunked + chunk("data: 1\n\n"), eof: true, want: map[string]uint64{"short": 1}},
		{name: "closed without chunks", say: head + "\r\ndata: 1\n\n", eof: true, want: map[string]uint64{"closed": 1}, ends: 1},
		{name: "closed without chunks, which is allowed", config: spec.Subscribe{Ends: true}, say: head + "\r\ndata: 1\n\n", eof: true, want: map[string]uint64{}, ends: 1},
		{name: "whole", say: chunked + "0\r\n\r\n", want: map[string]uint64{"closed": 1}, ends: 1},
		{name: "whole, which is allowed", config: spec.Subscribe{Ends: true}, say: head + "Content-Length: 9\r\n\r\ndata: 1\n\n", want: map[string]uint64{}, ends: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.config.Format == "" {
				tc.config.Format = spec.FormatEvents
			}
			tc.config.Retry = time.Second
			for seed := range uint64(20) {
				b, hung := bookOf(t, tc.config, 2, none{})
				join(b, 0)
				say(b, rand.New(rand.NewPCG(seed, 0)), 1, tc.say, 1)
				if tc.eof {
					b.eof(1, 2)
				}
				if got := b.ByKind(); !reflect.DeepEqual(got, tc.want) || b.Ends != tc.ends {
					t.Fatalf("errors %v, %d ends; want %v, %d", got, b.Ends, tc.want, tc.ends)
				}
				if !strings.Contains(b.cause(), tc.detail) {
					t.Errorf("cause %q, want %q in it", b.cause(), tc.detail)
				}
				gone := len(tc.want) > 0 || tc.ends > 0
				if ended := slices.Contains(*hung, 1); ended != gone || slices.Contains(*hung, 0) {
					t.Fatalf("closed: %v, want 1: %v", *hung, gone)
				}
				if b.asking+b.standing != map[bool]int{true: 1, false: 2}[gone] {
					t.Errorf("%d asking, %d standing", b.asking, b.standing)
				}
				if again := join(b, 2e9); gone != (len(again) == 1) {
					t.Errorf("%d requests a second later", len(again))
				}
			}
		})
	}
}

// A subscriber does not reconnect after status 204, and a stalled stream ends in time.
func TestLeaving(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	t.Run("204", func(t *testing.T) {
		b, hung := bookOf(t, spec.Subscribe{Format: spec.FormatEvents}, 1, none{})
		join(b, 0)
		say(b, rng, 0, "HTTP/1.1 204 No Content\r\n\r\n", 1)
		if again := join(b, 1e12); b.Retired != 1 || b.Failures() != 0 || len(*hung) != 1 || len(again) != 0 {
			t.Errorf("retired %d, errors %v, hung up %v, requests %q", b.Retired, b.ByKind(), *hung, again)
		}
	})
	t.Run("never", func(t *testing.T) {
		b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatEvents, Retry: spec.NeverRetry, Ends: true}, 1, none{})
		join(b, 0)
		say(b, rng, 0, chunked+chunk("retry: 10\ndata: 1\n\n")+"0\r\n\r\n", 1)
		if again := join(b, 1e12); b.Retired != 1 || b.Ends != 1 || len(again) != 0 {
			t.Errorf("retired %d, ends %d, requests %q", b.Retired, b.Ends, again)
		}
	})
	t.Run("the server's time", func(t *testing.T) {
		b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatEvents, Retry: time.Second, Ends: true}, 1, none{})
		join(b, 0)
		say(b, rng, 0, chunked+chunk("retry: 250\n\n")+"0\r\n\r\n", 0)
		if early, late := len(join(b, 250e6-1)), len(join(b, 250e6)); early != 0 || late != 1 {
			t.Errorf("%d requests before the time, %d at it", early, late)
		}
	})
	t.Run("no head in time", func(t *testing.T) {
		b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatEvents, Retry: time.Second}, 1, none{})
		join(b, 0)
		say(b, rng, 0, "HTTP/1.1 200 OK\r\n", 9e9)
		b.fire(10e9 - 1)
		if b.Failures() != 0 {
			t.Errorf("errors %v before the time", b.ByKind())
		}
		b.fire(10e9)
		if b.Errors[Timeout] != 1 || b.Failures() != 1 {
			t.Errorf("errors %v", b.ByKind())
		}
	})
	t.Run("stall", func(t *testing.T) {
		b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatEvents, Stall: 5 * time.Second, Retry: time.Second}, 1, none{})
		join(b, 0)
		say(b, rng, 0, chunked, 1e9)
		say(b, rng, 0, chunk(": ping\n"), 4e9)
		b.fire(6e9) // armed by the head
		b.fire(9e9 - 1)
		if b.Failures() != 0 || b.standing != 1 {
			t.Errorf("errors %v before the time", b.ByKind())
		}
		b.fire(9e9)
		b.fire(9e9 + arrears - 1)
		if b.Failures() != 0 {
			t.Errorf("errors %v before another look", b.ByKind())
		}
		b.fire(9e9 + arrears)
		if b.Errors[Stall] != 1 || b.Failures() != 1 || b.standing != 0 {
			t.Errorf("errors %v", b.ByKind())
		}
	})
}

// Connections begin at the configured rate, and at most 256 wait for an answer.
func TestTurns(t *testing.T) {
	b, err := newBook(spec.Subscribe{Format: spec.FormatEvents}, 2000, []byte(get), time.Minute, 1000, none{})
	if err != nil {
		t.Fatal(err)
	}
	b.hangUp = func(int32) {}
	var begun []int64
	for now := int64(0); len(begun) < 200; now += 100e3 {
		if _, ok := b.next(now); ok {
			begun = append(begun, now)
		}
	}
	for i, at := range begun {
		if at != int64(i)*1e6 {
			t.Fatalf("connection %d began at %d ns, want %d", i, at, i*1e6)
		}
	}
	at := int64(10e9) // missed connections are made up for, up to 10 ms
	if n := len(join(b, at)); n != 11 {
		t.Errorf("%d connections after a pause, want 11", n)
	}
	for range 1000 {
		at += 1e6
		join(b, at)
	}
	if b.asking != maxAsking {
		t.Errorf("%d connections under way, want %d", b.asking, maxAsking)
	}
}

// Open gaps and records, which are in no distribution, are reported at the end.
func TestQuiet(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatLines, Limit: 10}, 4, none{})
	join(b, 0)
	for i := range int32(3) {
		say(b, rng, i, "HTTP/1.1 200 OK\r\n\r\n{}\n", 1e9)
	}
	say(b, rng, 1, "{}\n", 6e9)
	say(b, rng, 2, "[1234567890", 7e9)
	var r spec.Subscribed
	b.quiet(&r, 5e9, 9e9)
	if r.Quiet != 2 || r.Endless != 1 || r.Silence != 8 {
		t.Errorf("quiet %d, endless %d, silence %g", r.Quiet, r.Endless, r.Silence)
	}
}

// The memory of a subscriber within an endless event, on its second connection, with an id
// of usual length.
func TestMemory(t *testing.T) {
	const n, bound = 10_000, 1024
	rng := rand.New(rand.NewPCG(3, 3))
	measure := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatEvents, ID: "@id", Retry: time.Second, Stall: time.Hour, Ends: true}, n, none{})
	b.hangUp = func(int32) {}
	event := chunk("id: 1526919030474-12\ndata: {\"n\":1}\n\n")
	partial := "1000000\r\ndata: " + strings.Repeat("z", 20_000)
	for now := int64(0); now < 20e9; now += 1e9 {
		for len(join(b, now)) > 0 {
			for i := range b.subs {
				if b.subs[i].phase != asking {
					continue
				}
				if b.subs[i].stood {
					say(b, rng, int32(i), chunked+event+partial, now)
				} else {
					say(b, rng, int32(i), chunked+event+"0\r\n\r\n", now)
				}
			}
		}
	}
	after := measure()
	if b.standing != n || b.Reconnects != n {
		t.Fatalf("%d standing, %d reconnects", b.standing, b.Reconnects)
	}
	each := float64(after-before) / n
	t.Logf("%.0f bytes per subscriber, including the struct of %d", each, unsafe.Sizeof(subscriber{}))
	if each > bound {
		t.Errorf("%.0f bytes per subscriber, want %d at most", each, bound)
	}
	runtime.KeepAlive(b)
}

// Reading events allocates nothing.
func TestReadAllocates(t *testing.T) {
	b, _ := bookOf(t, spec.Subscribe{Format: spec.FormatEvents, Stamp: "@data", ID: "@id"}, 1, none{})
	join(b, 0)
	b.read(0, []byte(chunked+chunk("id: 10000000\ndata: 1\n\n")), 1, 1)
	in, id := []byte(chunk("id: 10000000\ndata: 1700000000\n\n")), 10_000_000
	if n := testing.AllocsPerRun(1000, func() {
		id++
		copy(in[bytes.IndexByte(in, ':')+2:], fmt.Appendf(nil, "%d", id))
		b.read(0, in, 2, 2)
	}); n > 2 { // those of Appendf
		t.Errorf("%v allocations an event", n)
	}
	if b.Missed != 0 || b.Duplicated != 0 {
		t.Errorf("%d missed, %d duplicated", b.Missed, b.Duplicated)
	}
}
