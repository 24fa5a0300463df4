package mercure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/format"
)

// Path is where the specification wants the endpoint (Discovery). Mount it there, and below.
const Path = "/.well-known/mercure"

// Names of what carries a token (Authorization).
const (
	tokenCookie = "mercureAuthorization"
	tokenQuery  = "authorization"
)

// Options are the settings of an endpoint. Publisher is required.
type Options struct {
	// Publisher and Subscriber say which tokens are good for whom; different keys are better.
	// Their fields Query, Cookie, Origins and claims are set by New. Without keys for
	// subscribers nobody gets private updates.
	Publisher, Subscriber pushjwt.Options
	// Anonymous lets subscribers without a token listen to public updates.
	Anonymous bool
	// Subscriptions publishes an update when a subscription begins or ends, and offers the
	// list of those there are (Active Subscriptions).
	Subscriptions bool
	// Origins are the origins whose pages may use the endpoint, such as "https://example.com",
	// or "*" for subscribers without a cookie. Default: only the page's own.
	Origins []string
	// MaxData bounds the data of an update, in bytes. Default: 256 KiB. At most 16 MiB.
	MaxData int
	// Push are the settings of the hub. Its Formats, MaxFilters and MaxEventBytes are set by
	// New, and it has no Broker. Some defaults differ, because a client cannot be told what it
	// missed: Policy is Disconnect, and History 1,024 events and 4 MiB a topic, or eight times
	// MaxData if that is more. That is more than waits for a subscriber: one that was too slow
	// comes back for all of it. A quarter of MaxBytes is for the latest updates with several topics,
	// which are held once for all topics but the first.
	Push push.Options
}

// An Endpoint is what the specification calls a hub. Its methods may be called by any number
// of goroutines.
type Endpoint struct {
	o           Options
	hub         *push.Hub
	publishers  *pushjwt.Tokens
	subscribers *pushjwt.Tokens // nil: there are no keys
	handler     *push.Handler
	active      registry
	bodies      bodies
	order       sync.Mutex             // held while the copies of an update are published
	last        atomic.Pointer[string] // ID of the last update
}

// New creates an endpoint. ctx bounds the fetching of keys. The error says which options
// cannot be. Call Shutdown or Close at the end.
func New(ctx context.Context, o Options) (*Endpoint, error) {
	if o.MaxData == 0 {
		o.MaxData = 256 << 10
	}
	if o.MaxData < 0 || o.MaxData > 16<<20 {
		return nil, fmt.Errorf("mercure: Options.MaxData is %d: use 1 to 16 MiB", o.MaxData)
	}
	if o.Push.Broker != nil {
		return nil, errors.New("mercure: Options.Push.Broker is set: an endpoint serves one process, because clients resume by IDs that a broker does not keep")
	}
	o.fill()
	e := &Endpoint{o: o, bodies: bodies{by: map[uint64]*body{}}}
	if most := o.Push.MaxBytes / bodyShare; o.Push.MaxBytes >= leastHub {
		e.bodies.most, o.Push.MaxBytes = most, o.Push.MaxBytes-most
	}
	e.active.init()
	earliest := earliestID
	e.last.Store(&earliest)
	var err error
	if e.publishers, err = tokens(ctx, o.Publisher, o.Origins); err != nil {
		return nil, fmt.Errorf("mercure: Options.Publisher: %w", err)
	}
	if o.Subscriber.JWKS != "" || len(o.Subscriber.Keys) > 0 {
		if e.subscribers, err = tokens(ctx, o.Subscriber, o.Origins); err != nil {
			e.publishers.Close()
			return nil, fmt.Errorf("mercure: Options.Subscriber: %w", err)
		}
	}
	if e.hub, err = push.New(o.Push); err != nil {
		e.stop()
		return nil, err
	}
	e.handler = e.hub.Handler(nil)
	e.handler.Until, e.handler.User = expiry, subject
	return e, nil
}

// fill sets the options of the hub.
func (o *Options) fill() {
	p := &o.Push
	if p.Policy == 0 {
		p.Policy = push.Disconnect
	}
	if p.History.Events == 0 {
		p.History.Events = 1024
	}
	if p.History.Bytes == 0 {
		p.History.Bytes = max(4<<20, 8*o.MaxData)
	}
	if p.MaxBytes == 0 {
		p.MaxBytes = 512 << 20
	}
	p.Formats = []format.Format{stream{}}
	p.Rules = append([]push.Rule{{Pattern: subscriptionsTopic, History: push.History{Events: subscriptionsKept}}}, p.Rules...)
	p.MaxFilters = 8 * maxSelectors                             // twice what filters returns, once each for public and private updates
	p.MaxEventBytes = 7*o.MaxData + (maxTopics+4)*maxTopicBytes // "data: " before each line
}

func tokens(ctx context.Context, o pushjwt.Options, origins []string) (*pushjwt.Tokens, error) {
	o.Cookie, o.Query = tokenCookie, tokenQuery
	o.Origins = slices.DeleteFunc(slices.Clone(origins), func(s string) bool { return s == "*" })
	return pushjwt.New(ctx, o)
}

func (e *Endpoint) stop() {
	e.publishers.Close()
	if e.subscribers != nil {
		e.subscribers.Close()
	}
}

// Shutdown asks subscribers to connect again, as push.Hub.Shutdown does, and ends the
// endpoint.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	defer e.stop()
	return e.hub.Shutdown(ctx)
}

// Close ends the endpoint at once.
func (e *Endpoint) Close() error {
	defer e.stop()
	return e.hub.Close()
}

// Stats returns the figures of the hub. Bytes has those of the updates with several topics too.
func (e *Endpoint) Stats() push.Stats {
	st := e.hub.Stats()
	st.Bytes += e.bodies.size()
	return st
}

// ServeHTTP implements http.Handler, for Path and what is below it. Each subscriber has the
// goroutine of its handler, under any server.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.cors(w.Header(), r); r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var err error
	rest, below := strings.CutPrefix(r.URL.EscapedPath(), Path+subscriptionsPath)
	switch {
	case r.URL.Path == Path && r.Method == http.MethodPost:
		err = e.servePublisher(w, r)
	case r.URL.Path == Path && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		err = e.serveSubscriber(w, r)
	case r.URL.Path == Path:
		w.Header().Set("Allow", "GET, HEAD, POST, OPTIONS")
		err = refusal{http.StatusMethodNotAllowed, "subscribe with GET, publish with POST"}
	case e.o.Subscriptions && below && (rest == "" || rest[0] == '/'):
		err = e.serveSubscriptions(w, r, rest)
	default:
		err = refusal{http.StatusNotFound, "nothing is here: the endpoint is " + Path}
	}
	if err != nil {
		refuse(w, err)
	}
}

// A refusal is the answer to a request that cannot be served.
type refusal struct {
	status int
	text   string // what is wrong, and what to do
}

func (r refusal) Error() string { return r.text }

func refuse(w http.ResponseWriter, err error) {
	var r refusal
	switch {
	case errors.As(err, &r):
	case errors.Is(err, push.ErrUnauthorized):
		w.Header().Set("WWW-Authenticate", "Bearer")
		r = refusal{http.StatusUnauthorized, "send a valid token: as Bearer token, or in the cookie " + tokenCookie}
	case errors.Is(err, pushjwt.ErrForbidden):
		r = refusal{http.StatusForbidden, "the token does not allow this"}
	case errors.Is(err, push.ErrTooLarge):
		r = refusal{http.StatusRequestEntityTooLarge, "the update is too large: publish a reference to the data"}
	case errors.Is(err, ErrBadUpdate):
		r = refusal{http.StatusBadRequest, err.Error()}
	default:
		w.Header().Set("Retry-After", "2")
		r = refusal{http.StatusServiceUnavailable, "the update was not published: try again later"}
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, r.text, r.status)
}

// cors lets pages of other origins use the endpoint (Fetch Standard, 3.3).
func (e *Endpoint) cors(h http.Header, r *http.Request) {
	if len(e.o.Origins) == 0 {
		return
	}
	h.Add("Vary", "Origin") // also for a cache that sees a request without it first
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return
	case slices.Contains(e.o.Origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	case slices.Contains(e.o.Origins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
	default:
		return
	}
	h.Set("Access-Control-Expose-Headers", "Last-Event-ID, Link, Retry-After")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Authorization, Cache-Control, Last-Event-ID")
		h.Set("Access-Control-Max-Age", "86400")
	}
}

// Discover adds the fields Link of a response with a resource (Discovery): where its updates
// come from, and the topic that they have, unless that is "". A client that subscribes from
// there misses nothing that is published after the call.
func (e *Endpoint) Discover(h http.Header, topic string) {
	h.Add("Link", fmt.Sprintf("<%s>; rel=\"mercure\"; last-event-id=%q", Path, *e.last.Load()))
	if topic != "" {
		h.Add("Link", fmt.Sprintf("<%s>; rel=\"self\"", linkTarget.Replace(topic)))
	}
}

var linkTarget = strings.NewReplacer("<", "%3C", ">", "%3E", "\r", "%0D", "\n", "%0A", "\"", "%22")
