package scenario

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// clock is the present time for tokens.
var clock = time.Unix(1_700_000_000, 0)

// files returns a file system of names and texts.
func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

// options returns the options of most tests.
func options(pairs ...string) Options {
	return Options{FS: files(pairs...), Base: "http://h:1", Now: func() time.Time { return clock }}
}

// compiled returns the plan of a YAML text.
func compiled(t testing.TB, text string, pairs ...string) *Plan {
	t.Helper()
	p, err := Parse("s.yaml", []byte(text), options(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask returns the bytes of a user's next request.
func ask(t testing.TB, u *User) (*Target, string) {
	t.Helper()
	target, ok := u.Next()
	if !ok {
		t.Fatal("the user waits")
	}
	return target, string(u.Append(nil, target))
}

// parse reads a request with net/http, and its whole body.
func parse(t testing.TB, wire string) (*http.Request, string) {
	t.Helper()
	in := bufio.NewReader(strings.NewReader(wire))
	r, err := http.ReadRequest(in)
	if err != nil {
		t.Fatalf("%v in\n%s", err, wire)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%v in\n%s", err, wire)
	}
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Fatalf("%q behind\n%s", rest, wire)
	}
	return r, string(body)
}

// wire returns the whole request of the first target, streamed body included.
func wire(t testing.TB, p *Plan) string {
	t.Helper()
	target, s := ask(t, p.User(1, 0, 1))
	if target.Stream() == nil {
		return s
	}
	out := bytes.NewBufferString(s)
	for off := int64(0); off < target.Stream().Size(); {
		piece, err := target.Stream().AppendAt(nil, off, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		off += int64(len(piece))
		out.Write(piece)
	}
	return out.String()
}
