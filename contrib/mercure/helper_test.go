package mercure

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push/pushtest"
)

var (
	publisherKey  = []byte("publishers publishers publishers")
	subscriberKey = []byte("subscribers subscribers subscrib")
)

func keys(key []byte) pushjwt.Options {
	return pushjwt.Options{Keys: map[string]any{"": key}, Algorithms: []string{"HS256"}}
}

// A site is an endpoint on a server.
type site struct {
	t   *testing.T
	e   *Endpoint
	url string
}

// serve runs a test on each server, with an endpoint for anybody unless change says otherwise.
func serve(t *testing.T, change func(*Options), run func(s *site)) {
	t.Helper()
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			o := Options{Publisher: keys(publisherKey), Subscriber: keys(subscriberKey), Anonymous: true, Subscriptions: true}
			if change != nil {
				change(&o)
			}
			e, err := New(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			mux := http.NewServeMux()
			mux.Handle(Path, e)
			mux.Handle(Path+"/", e)
			at := serve(t, mux)
			t.Cleanup(func() { _ = e.Close() })
			run(&site{t, e, at + Path})
		})
	}
}

func token(t *testing.T, key []byte, mercure map[string]any, exp time.Duration) string {
	t.Helper()
	c := jwt.MapClaims{"mercure": mercure, "exp": time.Now().Add(exp).Unix()}
	s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) publisher(selectors ...string) http.Header {
	return bearer(token(s.t, publisherKey, map[string]any{"publish": selectors}, time.Hour))
}

func (s *site) subscriber(selectors ...string) http.Header {
	return bearer(token(s.t, subscriberKey, map[string]any{"subscribe": selectors, "payload": map[string]string{"who": "me"}}, time.Hour))
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// do sends a request, and returns the answer with its body closed at the end of the test.
func (s *site) do(method, target string, header http.Header, body string) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	transport := &http.Transport{DisableCompression: true}
	give := time.AfterFunc(pushtest.Patience, cancel)
	resp, err := transport.RoundTrip(r)
	give.Stop()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cancel()
		resp.Body.Close()
		transport.CloseIdleConnections()
	})
	return resp
}

// post publishes a form with pairs of fields.
func (s *site) post(header http.Header, pairs ...string) (status int, text string) {
	s.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	h := header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp := s.do("POST", s.url, h, form.Encode())
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

// published publishes a form that has to be accepted, and returns the ID.
func (s *site) published(pairs ...string) string {
	s.t.Helper()
	status, id := s.post(s.publisher("*"), pairs...)
	if status != http.StatusOK {
		s.t.Fatalf("publish %q: %d %s", pairs, status, id)
	}
	return id
}

// A client is a subscriber.
type client struct {
	t    *testing.T
	resp *http.Response
	next func() (pushtest.Message, error)
}

// subscribe opens a stream, with a query such as "topic=a&topic=b".
func (s *site) subscribe(header http.Header, query string) *client {
	s.t.Helper()
	resp := s.do("GET", s.url+"?"+query, header, "")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		s.t.Fatalf("%s: %d %v %s", query, resp.StatusCode, resp.Header, text)
	}
	next, err := pushtest.NewDecoder("sse", resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &client{s.t, resp, next}
}

// read returns the next update; the endpoint's own messages have no data.
func (c *client) read() pushtest.Message {
	c.t.Helper()
	give := time.AfterFunc(pushtest.Patience, func() { c.resp.Body.Close() })
	defer give.Stop()
	for {
		m, err := c.next()
		if err != nil {
			c.t.Fatal(err)
		}
		if len(m.Data) > 0 {
			return m
		}
	}
}

func (c *client) want(data ...string) (last pushtest.Message) {
	c.t.Helper()
	for _, want := range data {
		if last = c.read(); string(last.Data) != want {
			c.t.Fatalf("got %q (%+v), want %q", last.Data, last, want)
		}
	}
	return last
}

// status of a request that must not be answered with a stream.
func (s *site) status(method, target string, header http.Header) int {
	s.t.Helper()
	status, _, _ := pushtest.Refused(s.t, method, target, header)
	return status
}

func (s *site) alone(n int) {
	s.t.Helper()
	pushtest.Until(s.t, "the others have left", func() bool { return s.e.Stats().Subscribers == n })
}
