package pushtest

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Patience bounds each wait of the tests; nothing is expected to take it.
const Patience = time.Minute

// A Stream is a subscriber of a test. Its methods may be called by the test's goroutine.
type Stream struct {
	t      testing.TB
	resp   *http.Response
	next   func() (Message, error)
	cancel context.CancelFunc
	format string
	Start  Message // what the stream begins with
}

// A Query is what a subscriber asks for.
type Query struct {
	Topics []string
	Format string // "": sse
	LastID string // sent as header
	Header http.Header
	Over   *http.Transport // shared by several streams; nil: one of its own
	// Presence asks who joins and leaves.
	Presence bool
}

// URL returns the query's URL at an address.
func (q Query) URL(at string) string {
	v := url.Values{"topic": q.Topics}
	if q.Format != "" {
		v.Set("format", q.Format)
	}
	if q.Presence {
		v.Set("presence", "1")
	}
	return at + "?" + v.Encode()
}

// Open subscribes. The test ends if it is refused, and closes the stream at its end.
func Open(t testing.TB, at string, q Query) *Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.URL(at), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range q.Header {
		r.Header[name] = values
	}
	if q.LastID != "" {
		r.Header.Set("Last-Event-ID", q.LastID)
	}
	transport := q.Over
	if transport == nil {
		transport = NewTransport()
	}
	give := time.AfterFunc(Patience, cancel)
	resp, err := transport.RoundTrip(r)
	give.Stop()
	if err != nil {
		t.Fatal(err)
	}
	s := &Stream{t: t, resp: resp, format: "sse"}
	s.cancel = func() {
		cancel()
		resp.Body.Close()
		if q.Over == nil {
			transport.CloseIdleConnections()
		}
	}
	t.Cleanup(s.cancel)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		t.Fatalf("%s: %s: %s", r.URL, resp.Status, text)
	}
	if q.Format != "" {
		s.format = q.Format
	}
	if s.next, err = NewDecoder(s.format, resp.Body); err != nil {
		t.Fatal(err)
	}
	if s.Start = s.read(true); s.Start.Retry == 0 {
		t.Fatalf("the stream begins with %+v, not with retry", s.Start)
	}
	return s
}

// Close ends the stream from the client's side.
func (s *Stream) Close() { s.cancel() }

// Next returns the next message that is not a sign of life.
func (s *Stream) Next() Message {
	s.t.Helper()
	return s.read(false)
}

// Beat waits for a sign of life, and returns how many messages came before.
func (s *Stream) Beat() int {
	s.t.Helper()
	for n := 0; ; n++ {
		if m := s.read(true); m.Beat {
			return n
		}
	}
}

func (s *Stream) read(beats bool) Message {
	s.t.Helper()
	give := time.AfterFunc(Patience, s.cancel)
	defer give.Stop()
	for {
		m, err := s.next()
		if err != nil {
			s.t.Fatalf("read the stream: %v", err)
		}
		if beats || !m.Beat {
			return m
		}
	}
}

// End reads to the end of the stream, and returns what came before it. The error is nil if
// the response was complete.
func (s *Stream) End() (rest []Message, err error) {
	give := time.AfterFunc(Patience, s.cancel)
	defer give.Stop()
	for {
		m, err := s.next()
		switch {
		case err == io.EOF:
			return rest, nil
		case err != nil:
			return rest, err
		case !m.Beat:
			rest = append(rest, m)
		}
	}
}

// Want reads events, and compares their data.
func (s *Stream) Want(data ...string) (last Message) {
	s.t.Helper()
	for _, want := range data {
		last = s.Next()
		if got := string(last.Data); got != want {
			s.t.Fatalf("got %+v (%.100s), want the data %.100q", last, got, want)
		}
	}
	return last
}

// NewTransport returns a transport that trusts every server, and speaks HTTP/2 over TLS. A
// stream has one of its own, so that it leaves nothing behind.
func NewTransport() *http.Transport {
	return &http.Transport{
		DisableCompression: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // servers of tests sign for themselves
	}
}

// Refused sends a request that must not be answered with a stream, and returns the answer.
func Refused(t testing.TB, method, at string, header http.Header) (status int, text string, got http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && method == http.MethodGet {
		t.Fatalf("%s %s: answered with a stream", method, at)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 10_000))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

// Until waits until a condition holds.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long: %s", what)
		}
	}
}
