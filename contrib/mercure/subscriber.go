package mercure

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/format"
)

// earliestID asks for everything that the history holds (Reconnection), here and of the hub.
const earliestID = "earliest"

// lastIDs are the query parameters for Last-Event-ID: that of the specification, those of its
// other versions, and that of event-source-polyfill, which cannot send the header.
var lastIDs = []string{"lastEventID", "Last-Event-ID", "last_event_id", "lastEventId"}

// identify returns the claims of a subscriber, or nil for one without a token.
func (e *Endpoint) identify(r *http.Request) (*claims, error) {
	if e.subscribers == nil || !e.subscribers.Present(r) {
		return nil, nil
	}
	c := new(claims)
	if err := e.subscribers.Verify(r, c); err != nil {
		return nil, err
	}
	return c, nil
}

type claimsKey struct{}

// expiry returns when the token of a subscriber expires (Subscribers), for push.Handler.
func expiry(r *http.Request) time.Time {
	if c, _ := r.Context().Value(claimsKey{}).(*claims); c != nil {
		return c.ExpiresAt.Time
	}
	return time.Time{}
}

// subject returns the user of a subscriber, likewise.
func subject(r *http.Request) string {
	if c, _ := r.Context().Value(claimsKey{}).(*claims); c != nil {
		return c.Subject
	}
	return ""
}

// serveSubscriber answers with a stream (Subscription).
func (e *Endpoint) serveSubscriber(w http.ResponseWriter, r *http.Request) error {
	c, err := e.identify(r)
	switch {
	case err != nil:
		return err
	case c == nil && !e.o.Anonymous:
		return push.ErrUnauthorized
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refusal{http.StatusBadRequest, "the query is malformed: write % as %25, ; as %3B and & as %26"}
	}
	s := &response{endpoint: e, w: w, control: http.NewResponseController(w), header: http.Header{}, head: r.Method == http.MethodHead}
	if s.selectors, err = newSelectors(query["topic"]); err != nil {
		return refusal{http.StatusBadRequest, err.Error()}
	}
	if len(s.selectors) == 0 {
		return refusal{http.StatusBadRequest, "say what to listen to: ?topic=TOPIC, once for each, or a URI template, or *"}
	}
	if c != nil {
		if s.granted, err = newSelectors(c.Mercure.Subscribe); err != nil {
			return push.ErrUnauthorized
		}
		s.member.payload = c.Mercure.Payload
	}
	s.asked = r.Header.Get("Last-Event-ID")
	for _, name := range lastIDs {
		if s.asked == "" {
			s.asked = query.Get(name)
		}
	}
	var out http.ResponseWriter = s
	if !push.CanFlush(w) {
		out = struct{ http.ResponseWriter }{s} // the hub refuses it
	}
	e.handler.ServeHTTP(out, s.request(r, c))
	s.end()
	return nil
}

// request returns what the hub is asked.
func (s *response) request(r *http.Request, c *claims) *http.Request {
	q := url.Values{}
	watches := slices.ContainsFunc(s.granted, func(g selector) bool { return slices.Contains(g.filters(true), subscriptionsTopic) })
	for i := range s.selectors {
		filters := s.selectors[i].filters(false)
		if len(s.granted) > 0 {
			filters = append(filters, s.selectors[i].filters(true)...)
		}
		for _, f := range filters {
			if !slices.Contains(q["topic"], f) && (f != subscriptionsTopic || watches) {
				q.Add("topic", f)
			}
		}
		if text := s.selectors[i].text; !slices.Contains(s.member.topics, text) {
			s.member.topics = append(s.member.topics, text)
		}
	}
	if s.asked != "" {
		q.Set("last_event_id", s.asked)
	}
	r = r.Clone(context.WithValue(r.Context(), claimsKey{}, c))
	r.URL.RawQuery = q.Encode()
	for _, name := range []string{"Last-Event-ID", "Origin"} {
		r.Header.Del(name)
	}
	// There is one format. Who names it is an EventSource, which ends for good on any status but 200: when
	// the hub has no place, it gets a stream that ends at once, and others 503.
	named := strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), stream{}.MediaType())
	if r.Header.Del("Accept"); named {
		r.Header.Set("Accept", stream{}.MediaType())
	}
	return r
}

// A response takes the messages of the hub, each with one Write, and passes on what the
// subscriber wants and may read. It has no Unwrap, so that the hub serves it as it does on
// net/http.
type response struct {
	endpoint  *Endpoint
	w         http.ResponseWriter
	control   *http.ResponseController
	header    http.Header
	selectors []selector // what it wants
	granted   []selector // of private updates: what it may read
	asked     string     // Last-Event-ID
	last      string     // ID of the last update that it got, or knows to have missed
	lost      bool       // there is a gap after what it asked for
	pending   []byte     // waits for the head
	open      bool       // the head was sent
	head      bool       // the method is HEAD
	refused   bool       // this is not a stream
	member    member

	mu    sync.Mutex
	ended bool // the handler is about to return
}

// Header implements http.ResponseWriter.
func (s *response) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter. The head of a stream waits until it is known
// from where the stream goes on.
func (s *response) WriteHeader(status int) {
	if (status != http.StatusOK || s.head) && !s.open && !s.refused {
		s.refused = true
		s.copyHeader()
		s.w.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (s *response) Write(p []byte) (int, error) {
	if s.refused {
		return s.w.Write(p)
	}
	kind, text := p[0], p[1:]
	switch kind {
	case kindUpdate:
		c, err := s.endpoint.bodies.read(text)
		switch {
		case errors.Is(err, errDropped):
			if c.id == s.asked || c.id == s.last {
				return len(p), nil // another copy of what it has, or knows that it misses
			}
			s.last, s.lost = c.id, true
			text = stream{}.AppendGap(nil, &format.Gap{Reason: "history"})[1:]
		case err != nil || !s.wants(&c):
			return len(p), nil
		default:
			s.last, text = c.id, c.text
		}
	case kindGap:
		s.lost = true
	case kindOther:
		if !s.open {
			s.pending = append(s.pending, text...)
			return len(p), nil
		}
	}
	if err := s.begin(); err != nil {
		return 0, err
	}
	if _, err := s.w.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// copyHeader gives the header of the hub to the response, which has one of the endpoint's already.
func (s *response) copyHeader() {
	h := s.w.Header()
	vary := slices.Concat(h["Vary"], s.header["Vary"])
	maps.Copy(h, s.header)
	if len(vary) > 0 {
		h["Vary"] = vary
	}
}

// wants reports whether this copy of an update is the one that the subscriber gets.
func (s *response) wants(c *copied) bool {
	if s.asked != "" && c.id == s.asked {
		return false // another copy of what it had last
	}
	if !matchAny(s.selectors, c.topic) || matchAny(s.selectors, c.before...) {
		return false
	}
	return !c.private || matchAny(s.granted, c.topic) || matchAny(s.granted, c.before...) || matchAny(s.granted, c.after...)
}

// begin sends the head, unless it was sent.
func (s *response) begin() error {
	if s.open {
		return nil
	}
	s.open = true
	if s.asked != "" {
		from := s.asked
		if s.lost {
			from = earliestID
		}
		s.w.Header().Set("Last-Event-ID", from)
	}
	err := s.sendPending()
	s.endpoint.begun(&s.member)
	return err
}

// sendPending sends the head, and what waited for it.
func (s *response) sendPending() error {
	s.copyHeader()
	s.w.WriteHeader(http.StatusOK)
	_, err := s.w.Write(s.pending)
	s.pending = nil
	return err
}

// FlushError is called through http.ResponseController: with nothing to flush, if the hub has
// not yet begun.
func (s *response) FlushError() error {
	if !s.open && len(s.pending) == 0 {
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	return s.control.Flush()
}

// SetWriteDeadline is called through http.ResponseController, by any goroutine: also when the
// hub cuts a client that has just left, whose response must not be touched any more.
func (s *response) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return net.ErrClosed
	}
	return s.control.SetWriteDeadline(t)
}

// end follows the last Write.
func (s *response) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	switch {
	case s.open:
		s.endpoint.ended(&s.member)
	case !s.refused:
		_ = s.sendPending() // the stream ends before it has begun, or the client has left
	}
}
