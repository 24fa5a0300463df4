package http1

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// TestLimits feeds heads at each limit and one beyond it, in every split.
func TestLimits(t *testing.T) {
	small := exchange.Limits{MaxHeadBytes: 100, MaxFields: 3, MaxTargetBytes: 20, MaxBodyBytes: 10}
	target := func(n int) string { return "GET /" + strings.Repeat("a", n-1) + " HTTP/1.1\r\n" + host + "\r\n" }
	head := func(n int) string { s := get("A: \r\n"); return get("A: " + strings.Repeat("b", n-len(s)) + "\r\n") }
	for _, c := range []struct {
		name, in string
		want     Code
	}{
		{"target at the limit", target(20), Complete},
		{"target beyond", target(21), ErrTargetLong},
		{"target far beyond", target(500), ErrTargetLong},
		{"target beyond, never ended", "GET /" + strings.Repeat("a", 500), ErrTargetLong},
		{"query beyond", "GET /?" + strings.Repeat("a", 19) + " HTTP/1.1\r\n" + host + "\r\n", ErrTargetLong},
		{"escape over the limit", "GET /" + strings.Repeat("a", 18) + "%41 HTTP/1.1\r\n" + host + "\r\n", ErrTargetLong},
		{"bad escape at the limit", "GET /" + strings.Repeat("a", 18) + "%zz HTTP/1.1\r\n" + host + "\r\n", ErrTargetEscape},
		{"bad escape before the limit", "GET /" + strings.Repeat("a", 17) + "%zz HTTP/1.1\r\n" + host + "\r\n", ErrTargetEscape},
		{"bad byte beyond the limit", "GET /" + strings.Repeat("a", 20) + "\x00 HTTP/1.1\r\n", ErrTargetLong},
		{"absolute target beyond", "GET http://h/" + strings.Repeat("a", 18) + " HTTP/1.1\r\n" + host + "\r\n", ErrTargetLong},
		{"head at the limit", head(100), Complete},
		{"head beyond", head(101), ErrHeadLarge},
		{"head far beyond", head(5000), ErrHeadLarge},
		{"head beyond in a name", "GET / HTTP/1.1\r\n" + strings.Repeat("n", 200), ErrHeadLarge},
		{"bad byte beyond the limit of the head", get("A: " + strings.Repeat("b", 100) + "\x00\r\n"), ErrHeadLarge},
		{"fields at the limit", get("A: b\r\nC: d\r\n"), Complete},
		{"fields beyond", get("A: b\r\nC: d\r\nE: f\r\n"), ErrFieldCount},
		{"bad name beyond the limit of fields", get("A: b\r\nC: d\r\nE : f\r\n"), ErrFieldName},
		{"body at the limit", post("Content-Length: 10\r\n", "0123456789"), Complete},
		{"body beyond", post("Content-Length: 11\r\n", "0123456789a"), ErrBodyLarge},
		{"chunked at the limit", chunkedPost("5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n"), Complete},
		{"chunked beyond", chunkedPost("5\r\nhello\r\n6\r\nworlds\r\n0\r\n\r\n"), ErrBodyLarge},
	} {
		if o := readAll(t, small, c.in); o.code != c.want {
			t.Errorf("%s: %q, want %q", c.name, o.code, c.want)
		}
	}
}

// TestDefaultLimits holds memory bounded against many huge unique names
// (CVE-2022-41717) with the limits nobody set.
func TestDefaultLimits(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Code
	}{
		{"many names", get(strings.Repeat("A: b\r\n", 128)), ErrFieldCount},
		{"as many as it gets", get(strings.Repeat("A: b\r\n", 127)), Complete},
		{"a huge name", get(strings.Repeat("n", 64<<10) + ": b\r\n"), ErrHeadLarge},
		{"a huge value", get("A: " + strings.Repeat("v", 64<<10) + "\r\n"), ErrHeadLarge},
		{"a great value", get("A: " + strings.Repeat("v", 60<<10) + "\r\n"), Complete},
		{"a long target", "GET /" + strings.Repeat("a", 60<<10) + " HTTP/1.1\r\n" + host + "\r\n", Complete},
		{"a huge target", "GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\n" + host + "\r\n", ErrTargetLong},
		{"a great target", "GET /" + strings.Repeat("a", 8<<10-1) + " HTTP/1.1\r\n" + host + "\r\n", Complete},
	} {
		if o := read(exchange.Limits{}, c.in, []int{1000, 5000, 8000, 9000}); o.code != c.want {
			t.Errorf("%s: %q, want %q", c.name, o.code, c.want)
		}
	}
}

// TestRefusalIsFinal checks that a parser that refused parses nothing more.
func TestRefusalIsFinal(t *testing.T) {
	var p Parser
	p.Init(exchange.Limits{})
	var r exchange.Request
	if _, code := p.Parse(&r, []byte("G@T")); code != ErrMethod {
		t.Fatalf("%q", code)
	}
	if n, code := p.Parse(&r, []byte(get(""))); code != ErrMethod || n != 0 {
		t.Fatalf("after a refusal: %q, %d", code, n)
	}
	p.Init(exchange.Limits{})
	if n, code := p.Parse(&r, []byte(get(""))); code != Complete || n != len(get("")) {
		t.Fatalf("after Init: %q, %d", code, n)
	}
}

// TestStarted follows a parser through a head.
func TestStarted(t *testing.T) {
	var p Parser
	p.Init(exchange.Limits{})
	var r exchange.Request
	in := []byte(get(""))
	for i := range len(in) {
		if p.Parse(&r, in[:i]); p.Started() != (i > 0) {
			t.Fatalf("after %d bytes: %v", i, p.Started())
		}
	}
	if p.Parse(&r, in); p.Started() {
		t.Fatal("after the head")
	}
}

// TestPipelined parses requests that lie in one buffer one after the other.
func TestPipelined(t *testing.T) {
	var p Parser
	p.Init(exchange.Limits{})
	var r exchange.Request
	for pad := range 130 {
		one := get("A: " + strings.Repeat("x", pad) + "\r\n")
		buf := []byte(strings.Repeat(one, 5))
		for i := range 5 {
			n, code := p.Parse(&r, buf)
			if code != Complete || n != len(one) || string(r.Head) != one || len(r.Fields) != 2 {
				t.Fatalf("pad %d, request %d: %q, %d bytes", pad, i, code, n)
			}
			buf = buf[n:]
		}
	}
}

// TestAllocs holds reading at no allocation.
func TestAllocs(t *testing.T) {
	var p Parser
	p.Init(exchange.Limits{})
	var r exchange.Request
	var body Body
	inputs := []string{
		head35, head128, head703,
		get(strings.Repeat("X-Field: value\r\n", 100)),
		chunkedPost("5;a=\"b\"\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n"),
		"GET http://[::1]:80/a%41?b HTTP/1.1\r\nHost: [1:2:3:4:5:6:1.2.3.4]\r\nConnection: a, close\r\n\r\n",
	}
	for _, in := range inputs {
		buf := []byte(in)
		once := func() {
			p.Parse(&r, buf[:len(buf)/3])
			n, code := p.Parse(&r, buf)
			if code != Complete {
				t.Fatalf("%q: %q", in, code)
			}
			body.Init(&r, p.Limits())
			for rest := buf[n:]; !body.Done(); {
				_, n, code := body.Next(rest)
				if code.Refused() {
					t.Fatalf("%q: %q", in, code)
				}
				rest = rest[n:]
			}
		}
		once() // grows the slices that the record keeps
		if got := testing.AllocsPerRun(100, once); got != 0 {
			t.Errorf("%q: %v allocations", in, got)
		}
	}
}
