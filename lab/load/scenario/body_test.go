package scenario

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBodies(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	for _, tt := range []struct {
		body, want string
		length     int64 // -1: chunked
		stream     bool
	}{
		{"hello", "hello", 5, false},
		{"''", "", 0, false},
		{"5", "5", 1, false},
		{"{text: 'n ${vu}'}", "n 0", 3, false},
		{"{text: 'n ${vu}', chunked: true}", "n 0", -1, false},
		{"{text: 'number ${vu}', chunked: 4B}", "number 0", -1, false},
		{"{text: hello, chunked: 2}", "hello", -1, false},
		{"{text: '', chunked: true}", "", -1, false},
		{"{text: hello, chunked: false}", "hello", 5, false},
		{"{json: [1, a]}", `[1,"a"]`, 7, false},
		{"{file: short}", "${vu}", 5, false},
		{"{file: short, template: true}", "0", 1, false},
		{"{file: short, chunked: 1}", "${vu}", -1, false},
		{"{file: empty}", "", 0, false},
		{"{file: long}", long, 100_000, true},
		{"{file: long, chunked: 1000}", long, -1, true},
		{"{file: long, chunked: 33KB}", long, -1, true},
		{"{size: 3, fill: zero}", "\x00\x00\x00", 3, false},
		{"{size: 0}", "", 0, false},
		{"{size: 100KB, fill: zero}", strings.Repeat("\x00", 100_000), 100_000, true},
		{"{size: 70KiB, fill: zero, chunked: 7KiB}", strings.Repeat("\x00", 70<<10), -1, true},
	} {
		p := compiled(t, "targets:\n- {method: PUT, url: /, body: "+tt.body+"}\n", "short", "${vu}", "empty", "", "long", long)
		r, body := parse(t, wire(t, p))
		if body != tt.want || r.ContentLength != tt.length || (p.Targets()[0].Stream() != nil) != tt.stream {
			t.Errorf("%s: length %d, %d bytes %.40q", tt.body, r.ContentLength, len(body), body)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFills(t *testing.T) {
	bodies := map[string]string{}
	for _, fill := range []string{"random", "text"} {
		p := compiled(t, "targets:\n- {method: PUT, url: /, body: {size: 1KiB, fill: "+fill+"}}\n")
		_, bodies[fill] = parse(t, wire(t, p))
		if _, again := parse(t, wire(t, compiled(t, "targets:\n- {method: PUT, url: /, body: {size: 1KiB, fill: "+fill+"}}\n"))); again != bodies[fill] {
			t.Errorf("%s differs", fill)
		}
	}
	if len(bodies["random"]) != 1024 || bodies["random"] == bodies["text"] || !strings.HasPrefix(bodies["text"], "The quick") {
		t.Errorf("%.20q %.20q", bodies["random"], bodies["text"])
	}
}

// A stream has the same bytes from any offset, in pieces of any size.
func TestStreamOffsets(t *testing.T) {
	content := make(pattern, 70)
	for i := range content {
		content[i] = byte('A' + i)
	}
	for _, size := range []int64{0, 1, 9, 10, 11, 30, 69, 70} {
		for _, chunk := range []int64{0, 1, 9, 10, 16, 70, 100} {
			s := newStream(size, chunk, content)
			whole, err := s.AppendAt(nil, 0, 1<<20)
			if err != nil || int64(len(whole)) != s.Size() {
				t.Fatalf("size %d, chunks of %d: %d bytes, want %d, %v", size, chunk, len(whole), s.Size(), err)
			}
			if chunk > 0 {
				if want := appendChunked(nil, content[:size], chunk); !bytes.Equal(whole, want) {
					t.Fatalf("size %d, chunks of %d:\n got %q\nwant %q", size, chunk, whole, want)
				}
			}
			for off := range whole {
				for _, n := range []int{1, 7, 1 << 20} {
					got, err := s.AppendAt([]byte("x"), int64(off), n)
					if want := whole[off:min(off+n, len(whole))]; err != nil || string(got) != "x"+string(want) {
						t.Fatalf("size %d, chunks of %d, %d bytes at %d: %q, want %q, %v", size, chunk, n, off, got, want, err)
					}
				}
			}
		}
	}
}

func TestFileOnDisk(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "long")
	content := bytes.Repeat([]byte("0123456789"), 20_000)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("base: http://h\ntargets:\n- {name: a, method: PUT, url: /, body: {file: long}}\n- {name: b, method: PUT, url: /, body: {file: "+name+"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(filepath.Join(dir, "s.yaml"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Targets()[0].Stream()
	if got, err := s.AppendContentAt(nil, 150_000, 100_000); err != nil || !bytes.Equal(got, content[150_000:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if len(p.Files()) != 2 || p.Files()[1] != name {
		t.Errorf("files %v", p.Files())
	}
	// A file that shrinks is an error, not a request without end.
	if err := os.Truncate(name, 10); err != nil {
		t.Fatal(err)
	}
	if got, err := s.AppendContentAt(nil, 5, 100); err == nil || string(got) != "56789" {
		t.Errorf("%q, %v", got, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.AppendContentAt(nil, 0, 1); err == nil {
		t.Error("read after Close")
	}
}

func TestSingle(t *testing.T) {
	p, err := Single(Request{URL: "http://h:8080/x?y=${z}", Header: []string{"A: b", "a:c ${d}"}, Body: "${e}"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := p.Constant()
	if want := "POST /x?y=$%7Bz%7D HTTP/1.1\r\nHost: h:8080\r\nA: b\r\na: c ${d}\r\nContent-Length: 4\r\n\r\n${e}"; !ok || string(got) != want {
		t.Errorf("%v %q", ok, got)
	}
	p, err = Single(Request{URL: "/", Method: "PUT", Size: 1 << 40, Chunked: true}, options())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Constant(); ok || p.Targets()[0].Stream().ContentSize() != 1<<40 {
		t.Error("a terabyte is constant")
	}
	p, err = Single(Request{URL: "/"}, options())
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := p.Constant(); !ok || string(got) != "GET / HTTP/1.1\r\nHost: h:1\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

// Without a body, methods that usually have one announce an empty one.
func TestNoBody(t *testing.T) {
	for method, want := range map[string]int64{"GET": 0, "DELETE": 0, "POST": 0, "PUT": 0, "PATCH": 0} {
		p := compiled(t, "targets:\n- {url: /, method: "+method+"}\n")
		text := wire(t, p)
		r, _ := parse(t, text)
		if announced := strings.Contains(text, "Content-Length: 0\r\n"); r.ContentLength != want || announced != (method[0] == 'P') {
			t.Errorf("%s: %q", method, text)
		}
	}
}

func ExampleStream() {
	p, err := Single(Request{URL: "http://h/", Method: http.MethodPut, Size: 100_000}, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := p.Targets()[0].Stream()
	var sent int64
	for buf := []byte(nil); sent < s.Size(); {
		if buf, err = s.AppendAt(buf[:0], sent, 16<<10); err != nil {
			fmt.Println(err)
			return
		}
		n, _ := io.Discard.Write(buf) // a socket may accept less
		sent += int64(n)
	}
	fmt.Println(sent)
	// Output: 100000
}
