package nethttptest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A canned server answers the first request of a connection with fixed bytes,
// whatever the handler says, and keeps the connection for one more or not.
type canned struct {
	raw    string
	keep   bool
	fields *http.Server
	l      net.Listener
	mu     sync.Mutex
}

func (s *canned) Serve(l net.Listener) error {
	s.mu.Lock()
	s.l = l
	s.mu.Unlock()
	for {
		c, err := l.Accept()
		if err != nil {
			return http.ErrServerClosed
		}
		s.serve(c)
	}
}

func (s *canned) serve(c net.Conn) {
	defer c.Close()
	state := s.fields.ConnState
	state(c, http.StateNew)
	defer state(c, http.StateClosed)
	r := bufio.NewReader(c)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	state(c, http.StateActive)
	if _, err := c.Write([]byte(s.raw)); err != nil || !s.keep {
		return
	}
	state(c, http.StateIdle)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	state(c, http.StateActive)
	_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\n" + probeHeader + ": 1\r\nContent-Length: 0\r\n\r\n")) // the client will miss it
}

func (s *canned) ListenAndServe() error                      { return http.ErrNotSupported }
func (s *canned) ServeTLS(l net.Listener, _, _ string) error { return http.ErrNotSupported }
func (s *canned) Shutdown(context.Context) error             { return s.Close() }
func (s *canned) RegisterOnShutdown(func())                  {}
func (s *canned) SetKeepAlivesEnabled(bool)                  {}

func (s *canned) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.l.Close()
}

// against plays a trial to net/http and to a server of fixed bytes.
func against(t *testing.T, tr *trial, raw string, keep bool) (string, []*rule) {
	t.Helper()
	fixed := engine{"canned", func(fields *http.Server) server { return &canned{raw: raw, keep: keep, fields: fields} }}
	return compare(tr.start(netHTTP, t.TempDir()), tr.start(fixed, t.TempDir()))
}

// date is a Date field as servers send it.
func date() string { return "Date: " + time.Now().UTC().Format(http.TimeFormat) }

// TestHarnessSeesBytes plants differences in what a client gets, and wants each to
// be told exactly.
func TestHarnessSeesBytes(t *testing.T) {
	const (
		line    = "HTTP/1.1 200 OK"
		length  = "Content-Length: 5"
		kind    = "Content-Type: text/plain; charset=utf-8"
		chunked = "Transfer-Encoding: chunked"
		closed  = "-fate: open\n-state: new active idle active closed\n+fate: closed\n+state: new active closed\n"
	)
	date := date()
	right := message(line, length, kind, date) + "hello"
	change := func(from, to string) string { return strings.Replace(right, from, to, 1) }
	for _, c := range []struct {
		name, raw string
		keep      bool
		want      string
	}{
		{"nothing", right, true, ""},
		{"order of fields", message(line, date, kind, length) + "hello", true, ""},
		{"status", change("200 OK", "201 OK"), true, "-answer 1: HTTP/1.1 200 OK\n+answer 1: HTTP/1.1 201 OK\n"},
		{"phrase", change("200 OK", "200 Fine"), true, "-answer 1: HTTP/1.1 200 OK\n+answer 1: HTTP/1.1 200 Fine\n"},
		{"version", change("HTTP/1.1", "HTTP/1.0"), true, "-answer 1: HTTP/1.1 200 OK\n+answer 1: HTTP/1.0 200 OK\n"},
		{"value", change("utf-8", "latin1"), true, "-answer 1: Content-Type: text/plain; charset=utf-8\n+answer 1: Content-Type: text/plain; charset=latin1\n"},
		{"case of a name", change("-Length", "-length"), true, "-answer 1: Content-Length: 5\n+answer 1: Content-length: 5\n"},
		{"field too many", message(line, length, kind, date, "X-A: b") + "hello", true, "+answer 1: X-A: b\n"},
		{"field too few", message(line, length, date) + "hello", true, "-answer 1: Content-Type: text/plain; charset=utf-8\n"},
		{"date of long ago", change(date, "Date: Thu, 01 Jan 1970 00:00:00 GMT"), true, "-answer 1: Date: now\n+answer 1: Date: Thu, 01 Jan 1970 00:00:00 GMT\n"},
		{"no date", message(line, length, kind) + "hello", true, "-answer 1: Date: now\n"},
		{"byte of the body", change("hello", "hallo"), true, "-answer 1: body \"hello\"\n+answer 1: body \"hallo\"\n"},
		{"framing", message(line, kind, date, chunked) + encode("hel", "lo") + "0\r\n\r\n", true, "-answer 1: Content-Length: 5\n+answer 1: Transfer-Encoding: chunked\n"},
		{"trailer", message(line, kind, date, chunked) + encode("hello") + "0\r\nX-A: b\r\n\r\n", true, "-answer 1: Content-Length: 5\n+answer 1: Transfer-Encoding: chunked\n+answer 1: trailer X-A: b\n"},
		{"answer too many", right + message("HTTP/1.1 204 No Content"), true, "+answer 2: HTTP/1.1 204 No Content\n"},
		{"connection closed", right, false, closed},
		{"bytes behind", right + "\r\n", false, "-fate: open\n-state: new active idle active closed\n+rest: \"\\r\\n\"\n+fate: closed\n+state: new active closed\n"},
		{"body cut short", right[:len(right)-1], false, "-answer 1: body \"hello\"\n+answer 1: body \"hell\"\n+answer 1: is cut short\n" + closed},
		{"chunks cut short", message(line, kind, date, chunked) + "5\r\nhello\r\n", false, "-answer 1: Content-Length: 5\n+answer 1: Transfer-Encoding: chunked\n+answer 1: is cut short\n" + closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, applied := against(t, &trial{handle: text("hello"), send: get("/")}, c.raw, c.keep)
			if want := normalOrder(c.want); normalOrder(got) != want || len(applied) > 0 {
				t.Errorf("%d rules applied, difference\n%s\nwant\n%s", len(applied), indent(got), indent(c.want))
			}
		})
	}
	for name, raw := range map[string]string{
		"informational answer": message("HTTP/1.1 103 Early Hints") + right,
		"head cut short":       right[:30],
		"nothing at all":       "",
		"no HTTP":              "SSH-2.0-x\r\n",
	} {
		if got, applied := against(t, &trial{handle: text("hello"), send: get("/")}, raw, false); got == "" || len(applied) > 0 {
			t.Errorf("%s: %d rules applied, difference\n%s", name, len(applied), indent(got))
		}
	}
}

// normalOrder sorts the lines of a difference: which of several lines that moved is
// called old or new first does not matter.
func normalOrder(difference string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(difference, "\n")), "\n")
}

// TestHarnessSeesHandlers plants differences in what handlers see and servers
// tell.
func TestHarnessSeesHandlers(t *testing.T) {
	plain := trial{handle: look, send: post("/", "hello")}
	for _, c := range []struct {
		name  string
		other trial
		want  string
	}{
		{"nothing", plain, ""},
		{"path", trial{handle: look, send: post("/x", "hello")}, "-seen: RequestURI /\n+seen: RequestURI /x\n" +
			"-seen: URL path \"/\" raw path \"\" query \"\" forced false fragment \"\"\n+seen: URL path \"/x\" raw path \"\" query \"\" forced false fragment \"\"\n"},
		{"content", trial{handle: look, send: post("/", "hallo")}, "-seen: content \"hello\": ok\n+seen: content \"hallo\": ok\n"},
		{"how content ends", trial{handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(r.Body, failing{}), r.Body}
			look(o, w, r)
		}, send: post("/", "hello")}, "-seen: content \"hello\": ok\n+seen: content \"hello\": io.ErrClosedPipe\n"},
		{"field", trial{handle: look, send: post("/", "hello", "X-A: b")}, "+seen: Header X-A: [\"b\"]\n"},
		{"write fails", trial{handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
			look(o, w, r)
			_, err := failing{}.Read(nil)
			o.err("write", err)
		}, send: post("/", "hello")}, "+seen: write: io.ErrClosedPipe\n"},
		{"log", trial{handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
			look(o, w, r)
			w.WriteHeader(1 << 8)
		}, send: post("/", "hello")}, "+log: http: superfluous response.WriteHeader call from CALLER\n"},
		{"handler that does not return", trial{handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
			look(o, w, r)
			o.begin() // and never ends
		}, send: post("/", "hello"), settle: time.Millisecond}, "+seen: handlers or connections have not ended\n"},
		{
			"states",
			trial{handle: look, play: []step{say(post("/", "hello")), hear(1), half()}},
			"-fate: open\n-state: new active idle active closed\n+fate: closed\n+state: new active idle closed\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, applied := compare(plain.start(netHTTP, t.TempDir()), c.other.start(netHTTP, t.TempDir()))
			if normalOrder(got) != normalOrder(c.want) || len(applied) > 0 {
				t.Errorf("%d rules applied, difference\n%s\nwant\n%s", len(applied), indent(got), indent(c.want))
			}
		})
	}
}

// TestRules wants rules to cover what they say, and nothing beyond.
func TestRules(t *testing.T) {
	date, body := date(), strings.Repeat("x", 3000)
	const kind = "Content-Type: text/plain; charset=utf-8"
	long := func(n int) string { return fmt.Sprintf("Content-Length: %d", n) }
	bad := &trial{send: message("GET / HTTP/1.1")} // no Host
	large := &trial{handle: text(body), send: get("/")}
	huge := &trial{handle: text(strings.Repeat("x", 17<<10)), send: get("/")}
	flushed := &trial{handle: flushTwice, send: get("/")}
	for _, c := range []struct {
		name  string
		trial *trial
		raw   string
		rule  *rule // that applies
		same  bool
	}{
		{"refusal", bad, message("HTTP/1.1 400 Bad Request", closing, long(3), kind, date) + "no\n", &refusals, true},
		{"refusal without words", bad, message("HTTP/1.1 400 Bad Request", closing, long(0), kind, date), &refusals, true},
		{"refusal with another status", bad, message("HTTP/1.1 431 Too Large", closing, long(3), kind, date) + "no\n", nil, false},
		{"refusal that does not close", bad, message("HTTP/1.1 400 Bad Request", long(3), kind, date) + "no\n", nil, false},
		{"refusal with more fields", bad, message("HTTP/1.1 400 Bad Request", closing, long(3), kind, date, "X-A: b") + "no\n", nil, false},
		{"refusal cut short", bad, message("HTTP/1.1 400 Bad Request", closing, long(4), kind, date) + "no\n", nil, false},
		{"length", large, message("HTTP/1.1 200 OK", long(3000), kind, date) + body, &lengths, true},
		{"length, other body", large, message("HTTP/1.1 200 OK", long(3000), kind, date) + body[1:] + "y", &lengths, false},
		{"length, shorter body", large, message("HTTP/1.1 200 OK", long(2999), kind, date) + body[1:], nil, false},
		{"chunks like net/http", large, message("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", kind, date) + encode(body) + "0\r\n\r\n", nil, true},
		{"length beyond 16 KiB", huge, message("HTTP/1.1 200 OK", long(17<<10), kind, date) + strings.Repeat("x", 17<<10), nil, false},
		{"length where it was flushed", flushed, message("HTTP/1.1 200 OK", long(6), kind, date) + "onetwo", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fixed := engine{"canned", func(fields *http.Server) server { return &canned{raw: c.raw, keep: c.trial != bad, fields: fields} }}
			got, applied := compare(c.trial.start(netHTTP, t.TempDir()), c.trial.start(fixed, t.TempDir()))
			if (got == "") != c.same || len(applied) > 1 || (len(applied) == 1) != (c.rule != nil) || len(applied) == 1 && applied[0] != c.rule {
				t.Errorf("%d rules applied, difference\n%s", len(applied), indent(got))
			}
		})
	}
}
