package h1

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// readAll feeds pieces to a new parser and returns the verdicts, that of EOF last.
func readAll(r *Rules, pieces ...[]byte) []Verdict {
	p := Parser{Judge: Judge{Rules: r}}
	var got []Verdict
	for _, in := range pieces {
		for len(in) > 0 {
			n, v := p.Feed(in)
			if n < 1 || n > len(in) {
				panic("feed consumed nothing, or More than there is")
			}
			in = in[n:]
			if v == More {
				continue
			}
			got = append(got, v)
			if v.Broken() {
				return got
			}
		}
	}
	if v := p.EOF(); v != More {
		got = append(got, v)
	}
	return got
}

func bytewise(in []byte) (pieces [][]byte) {
	for i := range in {
		pieces = append(pieces, in[i:i+1])
	}
	return pieces
}

const head200 = "HTTP/1.1 200 OK\r\n"

var answerCases = []struct {
	name string
	in   string
	want []Verdict
}{
	{"length", head200 + "Content-Length: 5\r\n\r\nhello", []Verdict{Right}},
	{"two", strings.Repeat(head200+"content-length:5\r\n\r\nhello", 2), []Verdict{Right, Right}},
	{"field case and blanks", head200 + "CONTENT-LENGTH: \t5 \r\n\r\nhello", []Verdict{Right}},
	{"repeated length", head200 + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", []Verdict{Right}},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", []Verdict{Right}},
	{"until close", head200 + "Server: x\r\n\r\nhello", []Verdict{Right}},
	{"until close, short", head200 + "\r\nhell", []Verdict{BadLength}},
	{"chunked", head200 + "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", []Verdict{Right}},
	{"chunked, then another", head200 + "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []Verdict{Right, Right}},
	{"chunk extensions and trailers", head200 + "Transfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n000 ;x\r\nT: 1\r\nU: 2\r\n\r\n", []Verdict{Right}},
	{"upper-case hex", head200 + "Transfer-Encoding: chunked\r\n\r\nA\r\nhellohello\r\n0\r\n\r\n", []Verdict{BadLength}},
	{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []Verdict{Right}},
	{"status", "HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nbad", []Verdict{BadStatus}},
	{"status, then right", "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nbad" + head200 + "Content-Length: 5\r\n\r\nhello", []Verdict{BadStatus, Right}},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []Verdict{BadStatus, Right}},
	{"not modified with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []Verdict{BadStatus, Right}},
	{"too long", head200 + "Content-Length: 6\r\n\r\nhello!", []Verdict{BadLength}},
	{"too short", head200 + "Content-Length: 4\r\n\r\nhell", []Verdict{BadLength}},
	{"empty", head200 + "Content-Length: 0\r\n\r\n", []Verdict{BadLength}},
	{"chunked, too short", head200 + "Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n0\r\n\r\n", []Verdict{BadLength}},
	{"body", head200 + "Content-Length: 5\r\n\r\nhellO", []Verdict{BadBody}},
	{"chunked body", head200 + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalo\r\n1\r\no\r\n0\r\n\r\n", []Verdict{BadBody}},
	{"incomplete", head200 + "Content-Length: 5\r\n\r\nhell", nil},
	{"incomplete head", head200 + "Content-Le", nil},
	{"garbage", "\x16\x03\x01\x00garbage", []Verdict{Malformed}},
	{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", []Verdict{Malformed}},
	{"HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", []Verdict{Malformed}},
	{"status of letters", "HTTP/1.1 2x0 OK\r\n\r\n", []Verdict{Malformed}},
	{"status of four digits", "HTTP/1.1 2000\r\n\r\n", []Verdict{Malformed}},
	{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello", []Verdict{Malformed}},
	{"bare CR in a field", head200 + "A: b\rc\r\nContent-Length: 5\r\n\r\nhello", []Verdict{Malformed}},
	{"no colon", head200 + "Nonsense\r\n\r\n", []Verdict{Malformed}},
	{"space before colon", head200 + "Content-Length : 5\r\n\r\nhello", []Verdict{Malformed}},
	{"folded field", head200 + "A: b\r\n c\r\n\r\n", []Verdict{Malformed}},
	{"lengths differ", head200 + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", []Verdict{Malformed}},
	{"length with a sign", head200 + "Content-Length: +5\r\n\r\nhello", []Verdict{Malformed}},
	{"length out of range", head200 + "Content-Length: 9999999999999999999\r\n\r\n", []Verdict{Malformed}},
	{"length and chunked", head200 + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", []Verdict{Malformed}},
	{"another coding", head200 + "Transfer-Encoding: gzip, chunked\r\n\r\n", []Verdict{Malformed}},
	{"no chunk size", head200 + "Transfer-Encoding: chunked\r\n\r\n\r\nhello", []Verdict{BadChunk}},
	{"chunk size out of range", head200 + "Transfer-Encoding: chunked\r\n\r\n8000000000000000\r\n", []Verdict{BadChunk}},
	{"chunk runs over", head200 + "Transfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n", []Verdict{BadChunk}},
	{"chunk line ends in LF", head200 + "Transfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n", []Verdict{BadChunk}},
	{"trailer ends in LF", head200 + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n", []Verdict{BadChunk}},
	{"endless chunk extension", head200 + "Transfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("a", maxLine+1), []Verdict{BadChunk}},
}

func TestAnswers(t *testing.T) {
	r := &Rules{Status: 200, Body: []byte("hello")}
	for _, tc := range answerCases {
		t.Run(tc.name, func(t *testing.T) {
			in := []byte(tc.in)
			if got := readAll(r, in); !slices.Equal(got, tc.want) {
				t.Fatalf("whole: got %v, want %v", got, tc.want)
			}
			if got := readAll(r, bytewise(in)...); !slices.Equal(got, tc.want) {
				t.Errorf("byte by byte: got %v, want %v", got, tc.want)
			}
			for at := range min(len(in), 400) {
				if got := readAll(r, in[:at], in[at:]); !slices.Equal(got, tc.want) {
					t.Errorf("split at %d: got %v, want %v", at, got, tc.want)
				}
			}
		})
	}
}

func TestAnswerRules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules Rules
		in    string
		want  []Verdict
	}{
		{"any body", Rules{Status: 200, AnyBody: true}, head200 + "Content-Length: 2\r\n\r\nxy", []Verdict{Right}},
		{"HEAD", Rules{Status: 200, Body: []byte("hello"), HeadOnly: true}, head200 + "Content-Length: 5\r\n\r\n", []Verdict{Right}},
		{"204 expected", Rules{Status: 204, Body: []byte{}}, "HTTP/1.1 204 No Content\r\n\r\n", []Verdict{Right}},
		{"empty expected", Rules{Status: 200, Body: []byte{}}, head200 + "Content-Length: 1\r\n\r\nx", []Verdict{BadLength}},
		{"any status", Rules{Body: []byte("hello")}, "HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nhello", []Verdict{Right}},
		{"endless body", Rules{AnyBody: true, MaxBody: 999}, head200 + "\r\n" + strings.Repeat("x", 1000), []Verdict{Endless}},
		{"endless chunks", Rules{AnyBody: true, MaxBody: 999}, head200 + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 1000), []Verdict{Endless}},
		{"announced", Rules{AnyBody: true, MaxBody: 999}, head200 + "Content-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000), []Verdict{Right}},
		{"endless head", Rules{Status: 200}, head200 + strings.Repeat("A: b\r\n", maxHead), []Verdict{TooLong}},
		{"endless line", Rules{Status: 200}, head200 + strings.Repeat("A", 2*maxHead), []Verdict{TooLong}},
		{"endless trailers", Rules{Status: 200}, head200 + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", maxHead), []Verdict{TooLong}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := readAll(&tc.rules, []byte(tc.in)); !slices.Equal(got, tc.want) {
				t.Errorf("whole: got %v, want %v", got, tc.want)
			}
			if got := readAll(&tc.rules, bytewise([]byte(tc.in))...); !slices.Equal(got, tc.want) {
				t.Errorf("byte by byte: got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestConnectionClose(t *testing.T) {
	const body = "Content-Length: 5\r\n\r\nhello"
	for in, want := range map[string]bool{
		head200 + body: false,
		head200 + "Connection: keep-alive\r\n" + body:            false,
		head200 + "Connection: Close\r\n" + body:                 true,
		head200 + "connection: foo, close\r\n" + body:            true,
		"HTTP/1.0 200 OK\r\n" + body:                             true,
		"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + body:   false,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n": true,
	} {
		p := Parser{Judge: Judge{Rules: &Rules{Status: 200, Body: []byte("hello")}}}
		if _, v := p.Feed([]byte(in)); v == More || v.Broken() || p.Close != want {
			t.Errorf("%q: verdict %v, close %v, want %v", in, v, p.Close, want)
		}
	}
}

// Long bodies are compared in the first answer and in one out of sampled.
func TestSampling(t *testing.T) {
	body := bytes.Repeat([]byte("x"), smallBody+1)
	p := Parser{Judge: Judge{Rules: &Rules{Status: 200, Body: body}}}
	wrong := append([]byte(head200+"Content-Length: 4097\r\n\r\n"), body...)
	wrong[len(wrong)-1] = 'y'
	for i := range 3 * sampled {
		want := Right
		if i%sampled == 0 {
			want = BadBody
		}
		if n, v := p.Feed(wrong); n != len(wrong) || v != want {
			t.Fatalf("answer %d: verdict %v, want %v", i, v, want)
		}
	}
}

func TestTemplate(t *testing.T) {
	one := []byte(head200 + "Date: Sat, 21 Nov 2026 06:00:00 GMT\r\nContent-Length: 5\r\n\r\nhello")
	moved := bytes.Replace(one, []byte("06:00:00"), []byte("06:00:01"), 1)
	var tpl Template
	if n := tpl.Match(one, 1); n != 0 {
		t.Errorf("nothing learned: matched %d", n)
	}
	tpl.Learn(one)
	for _, tc := range []struct {
		name  string
		in    []byte
		limit int
		want  int
	}{
		{"one", one, 16, 1},
		{"three", bytes.Repeat(one, 3), 16, 3},
		{"no more than asked for", bytes.Repeat(one, 3), 2, 2},
		{"incomplete", one[:len(one)-1], 16, 0},
		{"date", moved, 16, 0},
		{"date in the second", append(bytes.Clone(one), moved...), 16, 1},
		{"empty", nil, 16, 0},
	} {
		if got := tpl.Match(tc.in, tc.limit); got != tc.want {
			t.Errorf("%s: matched %d, want %d", tc.name, got, tc.want)
		}
	}
	tpl.Learn(make([]byte, maxTemplate+1))
	if n := tpl.Match(one, 1); n != 1 {
		t.Error("a template that is too long replaced the good one")
	}
}

func TestFeedAllocates(t *testing.T) {
	p := Parser{Judge: Judge{Rules: &Rules{Status: 200, Body: []byte("hello")}}}
	in := []byte(head200 + "Server: x\r\nContent-Length: 5\r\n\r\nhello")
	if n := testing.AllocsPerRun(100, func() { p.Feed(in[:30]); p.Feed(in[30:]) }); n != 0 {
		t.Errorf("%v allocations an answer", n)
	}
}

// FuzzAnswers checks that the verdicts do not depend on how the bytes are split.
func FuzzAnswers(f *testing.F) {
	for i, tc := range answerCases {
		f.Add([]byte(tc.in), uint16(i*7))
	}
	r := &Rules{Status: 200, Body: []byte("hello")}
	f.Fuzz(func(t *testing.T, in []byte, at uint16) {
		want := readAll(r, in)
		if got := readAll(r, bytewise(in)...); !slices.Equal(got, want) {
			t.Errorf("byte by byte %v, whole %v", got, want)
		}
		cut := int(at) % (len(in) + 1)
		if got := readAll(r, in[:cut], in[cut:]); !slices.Equal(got, want) {
			t.Errorf("split at %d %v, whole %v", cut, got, want)
		}
	})
}

// kept is a sink that stores everything.
type kept struct {
	status        int
	head, content string
}

func (k *kept) Head(status int, head []byte) { k.status, k.head = status, k.head+string(head) }
func (k *kept) Content(b []byte)             { k.content += string(b) }

func TestSink(t *testing.T) {
	const head = head200 + "X: y\r\nTransfer-Encoding: chunked\r\n\r\n"
	in := []byte("HTTP/1.1 103 Early Hints\r\n\r\n" + head + "2\r\nhe\r\n3;a\r\nllo\r\n0\r\nT: 1\r\n\r\n")
	for size := 1; size <= len(in); size++ {
		k := &kept{}
		p := Parser{Judge: Judge{Rules: &Rules{AnyBody: true}}, Sink: k}
		for rest := in; len(rest) > 0; {
			n, _ := p.Feed(rest[:min(size, len(rest))])
			rest = rest[n:]
		}
		if *k != (kept{200, head, "hello"}) {
			t.Fatalf("pieces of %d: %+v", size, k)
		}
	}
}

// One answer to HEAD among others.
func TestHeadOnly(t *testing.T) {
	p := Parser{Judge: Judge{Rules: &Rules{Status: 200, Body: []byte("hello")}}, HeadOnly: true}
	in := []byte(head200 + "Content-Length: 5\r\n\r\n")
	if n, v := p.Feed(in); n != len(in) || v != Right {
		t.Fatalf("%d bytes, verdict %v", n, v)
	}
	p.HeadOnly = false
	if _, v := p.Feed(in); v != More {
		t.Fatalf("verdict %v without the body", v)
	}
}

// The buffer of a large head is released.
func TestHeadIsNotKept(t *testing.T) {
	p := Parser{Judge: Judge{Rules: &Rules{Status: 200, Body: []byte("hello")}}}
	in := []byte(head200 + strings.Repeat("X: y\r\n", 5000) + "Content-Length: 5\r\n\r\nhello")
	p.Feed(in[:len(in)/2])
	if _, v := p.Feed(in[len(in)/2:]); v != Right || cap(p.head) > keptHead {
		t.Errorf("verdict %v, %d bytes kept", v, cap(p.head))
	}
	p.Feed(in[:len(in)/2])
	if p.Reset(); p.Begun() || cap(p.head) > keptHead {
		t.Errorf("after the connection: %d bytes kept", cap(p.head))
	}
}
