package compat_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A report is what was seen in a scenario.
type report struct{ journal }

// add adds a line.
func (r *report) add(format string, args ...any) { fmt.Fprintf(r, format+"\n", args...) }

// unsteady are the fields of an answer that are not the same twice, and those
// by which a body is framed: its length is in the report anyway.
var unsteady = []string{"Date", "Content-Length"}

// answer adds an answer with its body, and returns the body.
func (r *report) answer(t *testing.T, what string, resp *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && params["boundary"] != "" {
		// One that is made up anew each time.
		body = bytes.ReplaceAll(body, []byte(params["boundary"]), []byte("BOUNDARY"))
		resp.Header.Set("Content-Type", strings.ReplaceAll(resp.Header.Get("Content-Type"), params["boundary"], "BOUNDARY"))
	}
	ends := fmt.Sprint(resp.Close)
	if resp.StatusCode == http.StatusRequestEntityTooLarge {
		// net/http closes the connection when it knows who refused the body, which
		// a middleware's writer hides. Redline closes it always.
		ends = "?"
	}
	r.add("%s: %s %d close=%s", what, resp.Proto, resp.StatusCode, ends)
	if resp.Header.Get("Date") == "" {
		r.add("  no Date")
	}
	r.header("  ", resp.Header)
	if err != nil {
		r.add("  body breaks off: %v", err)
		return ""
	}
	r.header("  trailer ", resp.Trailer)
	r.add("  body %s", brief(body))
	return string(body)
}

// header adds fields, sorted by name.
func (r *report) header(indent string, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		values := h[name]
		if name == "Allow" { // of the routers some keep methods in a map
			values = slices.Sorted(strings.SplitSeq(strings.Join(values, ", "), ", "))
		}
		if !slices.Contains(unsteady, name) {
			r.add("%s%s: %q", indent, name, values)
		}
	}
}

// brief is a body as it is when it is short, and its digest when it is not.
func brief(body []byte) string {
	if len(body) <= 1000 {
		return fmt.Sprintf("%q", body)
	}
	return fmt.Sprintf("%d bytes %x", len(body), sha256.Sum256(body))
}

// get adds the answer to a request, and returns its body. The fields of the
// request are given as "Name: value".
func (r *report) get(t *testing.T, s *service, path string, fields ...string) string {
	t.Helper()
	return r.do(t, s, "GET", path, nil, fields...)
}

// do is get for any method, with a body.
func (r *report) do(t *testing.T, s *service, method, path string, body io.Reader, fields ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	resp, err := s.client.Do(req)
	return r.answer(t, fmt.Sprintf("%s %s %q", method, path, fields), resp, err)
}

// A wire is a connection that a scenario writes to byte by byte.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func (s *service) wire(t *testing.T) *wire {
	conn := s.dial(t)
	return &wire{conn, bufio.NewReader(conn)}
}

func (w *wire) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// answer adds the next answer. A 100 (Continue) is passed over: a ReverseProxy
// may say it twice.
func (w *wire) answer(t *testing.T, r *report, method string) {
	t.Helper()
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	for err == nil && resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(w.in, &http.Request{Method: method})
	}
	r.answer(t, "wire "+method, resp, err)
}

// end adds what comes until the server closes.
func (w *wire) end(t *testing.T, r *report) {
	t.Helper()
	rest, err := io.ReadAll(w.in)
	if err != nil {
		t.Fatalf("the server does not close: %v", err)
	}
	r.add("closed after %q", rest)
}

// pattern is n bytes that repeat nowhere soon.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7>>3 ^ i>>11)
	}
	return b
}

// lines gives the lines of a body one by one.
func lines(t *testing.T, body io.Reader) func() string {
	in := bufio.NewReader(body)
	return func() string {
		t.Helper()
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", line, err)
		}
		return strings.TrimSuffix(line, "\n")
	}
}
