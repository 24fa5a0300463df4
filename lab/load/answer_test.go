package load

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// readAll feeds pieces to a fresh parser and returns the verdicts, eof's last.
func readAll(r *rules, pieces ...[]byte) []verdict {
	p := parser{rules: r}
	var got []verdict
	for _, in := range pieces {
		for len(in) > 0 {
			n, v := p.feed(in)
			if n < 1 || n > len(in) {
				panic("feed consumed nothing, or more than there is")
			}
			in = in[n:]
			if v == more {
				continue
			}
			got = append(got, v)
			if v == malformed {
				return got
			}
		}
	}
	if v := p.eof(); v != more {
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
	want []verdict
}{
	{"length", head200 + "Content-Length: 5\r\n\r\nhello", []verdict{right}},
	{"two", strings.Repeat(head200+"content-length:5\r\n\r\nhello", 2), []verdict{right, right}},
	{"field case and blanks", head200 + "CONTENT-LENGTH: \t5 \r\n\r\nhello", []verdict{right}},
	{"repeated length", head200 + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", []verdict{right}},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", []verdict{right}},
	{"until close", head200 + "Server: x\r\n\r\nhello", []verdict{right}},
	{"until close, short", head200 + "\r\nhell", []verdict{badLength}},
	{"chunked", head200 + "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", []verdict{right}},
	{"chunked, then another", head200 + "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []verdict{right, right}},
	{"chunk extensions and trailers", head200 + "Transfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n000 ;x\r\nT: 1\r\nU: 2\r\n\r\n", []verdict{right}},
	{"upper-case hex", head200 + "Transfer-Encoding: chunked\r\n\r\nA\r\nhellohello\r\n0\r\n\r\n", []verdict{badLength}},
	{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []verdict{right}},
	{"status", "HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nbad", []verdict{badStatus}},
	{"status, then right", "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nbad" + head200 + "Content-Length: 5\r\n\r\nhello", []verdict{badStatus, right}},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []verdict{badStatus, right}},
	{"not modified with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" + head200 + "Content-Length: 5\r\n\r\nhello", []verdict{badStatus, right}},
	{"too long", head200 + "Content-Length: 6\r\n\r\nhello!", []verdict{badLength}},
	{"too short", head200 + "Content-Length: 4\r\n\r\nhell", []verdict{badLength}},
	{"empty", head200 + "Content-Length: 0\r\n\r\n", []verdict{badLength}},
	{"chunked, too short", head200 + "Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n0\r\n\r\n", []verdict{badLength}},
	{"body", head200 + "Content-Length: 5\r\n\r\nhellO", []verdict{badBody}},
	{"chunked body", head200 + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalo\r\n1\r\no\r\n0\r\n\r\n", []verdict{badBody}},
	{"incomplete", head200 + "Content-Length: 5\r\n\r\nhell", nil},
	{"incomplete head", head200 + "Content-Le", nil},
	{"garbage", "\x16\x03\x01\x00garbage", []verdict{malformed}},
	{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", []verdict{malformed}},
	{"HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", []verdict{malformed}},
	{"status of letters", "HTTP/1.1 2x0 OK\r\n\r\n", []verdict{malformed}},
	{"status of four digits", "HTTP/1.1 2000\r\n\r\n", []verdict{malformed}},
	{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello", []verdict{malformed}},
	{"bare CR in a field", head200 + "A: b\rc\r\nContent-Length: 5\r\n\r\nhello", []verdict{malformed}},
	{"no colon", head200 + "Nonsense\r\n\r\n", []verdict{malformed}},
	{"space before colon", head200 + "Content-Length : 5\r\n\r\nhello", []verdict{malformed}},
	{"folded field", head200 + "A: b\r\n c\r\n\r\n", []verdict{malformed}},
	{"lengths differ", head200 + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", []verdict{malformed}},
	{"length with a sign", head200 + "Content-Length: +5\r\n\r\nhello", []verdict{malformed}},
	{"length out of range", head200 + "Content-Length: 9999999999999999999\r\n\r\n", []verdict{malformed}},
	{"length and chunked", head200 + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", []verdict{malformed}},
	{"another coding", head200 + "Transfer-Encoding: gzip, chunked\r\n\r\n", []verdict{malformed}},
	{"no chunk size", head200 + "Transfer-Encoding: chunked\r\n\r\n\r\nhello", []verdict{malformed}},
	{"chunk size out of range", head200 + "Transfer-Encoding: chunked\r\n\r\n8000000000000000\r\n", []verdict{malformed}},
	{"chunk runs over", head200 + "Transfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n", []verdict{malformed}},
	{"chunk line ends in LF", head200 + "Transfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n", []verdict{malformed}},
	{"trailer ends in LF", head200 + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n", []verdict{malformed}},
	{"endless chunk extension", head200 + "Transfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("a", maxLine+1), []verdict{malformed}},
}

func TestAnswers(t *testing.T) {
	r := &rules{status: 200, body: []byte("hello")}
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
		rules rules
		in    string
		want  []verdict
	}{
		{"any body", rules{status: 200, anyBody: true}, head200 + "Content-Length: 2\r\n\r\nxy", []verdict{right}},
		{"HEAD", rules{status: 200, body: []byte("hello"), headOnly: true}, head200 + "Content-Length: 5\r\n\r\n", []verdict{right}},
		{"204 expected", rules{status: 204, body: []byte{}}, "HTTP/1.1 204 No Content\r\n\r\n", []verdict{right}},
		{"empty expected", rules{status: 200, body: []byte{}}, head200 + "Content-Length: 1\r\n\r\nx", []verdict{badLength}},
		{"endless head", rules{status: 200}, head200 + strings.Repeat("A: b\r\n", maxHead), []verdict{malformed}},
		{"endless line", rules{status: 200}, head200 + strings.Repeat("A", 2*maxHead), []verdict{malformed}},
		{"endless trailers", rules{status: 200}, head200 + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", maxHead), []verdict{malformed}},
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
		p := parser{rules: &rules{status: 200, body: []byte("hello")}}
		if _, v := p.feed([]byte(in)); v == more || v == malformed || p.close != want {
			t.Errorf("%q: verdict %v, close %v, want %v", in, v, p.close, want)
		}
	}
}

// Long bodies are compared on the first answer and one in sampled.
func TestSampling(t *testing.T) {
	body := bytes.Repeat([]byte("x"), smallBody+1)
	p := parser{rules: &rules{status: 200, body: body}}
	wrong := append([]byte(head200+"Content-Length: 4097\r\n\r\n"), body...)
	wrong[len(wrong)-1] = 'y'
	for i := range 3 * sampled {
		want := right
		if i%sampled == 0 {
			want = badBody
		}
		if n, v := p.feed(wrong); n != len(wrong) || v != want {
			t.Fatalf("answer %d: verdict %v, want %v", i, v, want)
		}
	}
}

func TestTemplate(t *testing.T) {
	one := []byte(head200 + "Date: Sat, 21 Nov 2026 06:00:00 GMT\r\nContent-Length: 5\r\n\r\nhello")
	moved := bytes.Replace(one, []byte("06:00:00"), []byte("06:00:01"), 1)
	var tpl template
	if n := tpl.match(one, 1); n != 0 {
		t.Errorf("nothing learned: matched %d", n)
	}
	tpl.learn(one)
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
		if got := tpl.match(tc.in, tc.limit); got != tc.want {
			t.Errorf("%s: matched %d, want %d", tc.name, got, tc.want)
		}
	}
	tpl.learn(make([]byte, maxTemplate+1))
	if n := tpl.match(one, 1); n != 1 {
		t.Error("a template that is too long replaced the good one")
	}
}

func TestFeedAllocates(t *testing.T) {
	p := parser{rules: &rules{status: 200, body: []byte("hello")}}
	in := []byte(head200 + "Server: x\r\nContent-Length: 5\r\n\r\nhello")
	if n := testing.AllocsPerRun(100, func() { p.feed(in[:30]); p.feed(in[30:]) }); n != 0 {
		t.Errorf("%v allocations an answer", n)
	}
}

// FuzzAnswers holds that the verdicts do not depend on how the bytes arrive.
func FuzzAnswers(f *testing.F) {
	for i, tc := range answerCases {
		f.Add([]byte(tc.in), uint16(i*7))
	}
	r := &rules{status: 200, body: []byte("hello")}
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
