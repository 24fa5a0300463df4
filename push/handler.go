package push

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// A Handler answers GET requests with the stream of a hub; it is mounted for all methods. Set
// its fields before it is used; its functions are called for requests that its authorize
// function has allowed.
//
//	topic          what to listen to: a name or a pattern, once for each
//	format         "sse", "ndjson", "protobuf"; without it, the header Accept decides
//	last_event_id  where to resume, for clients that cannot set the header Last-Event-ID
type Handler struct {
	// User names the user of a request, for Options.MaxPerUser and Options.Connects, the registry,
	// and Ending.User. Default: nobody.
	User func(*http.Request) string
	// Address names the client of a request, for Options.MaxPerAddress, Options.Connects and the registry.
	// Default: the host of RemoteAddr. Behind a proxy it has to come from a header that the
	// proxy sets. IPv6 addresses of one /64 count as one address.
	Address func(*http.Request) string
	// Until says when the right of a request to listen ends, such as the expiry of its token:
	// its stream ends like one whose Lifetime is over, some seconds before rather than later.
	// The zero time: never. Default: never.
	Until func(*http.Request) time.Time
	// Token names the credentials of a request, such as by the "jti" of its JWT, for Ending.Token. It
	// should not be the credentials themselves. Default: nothing.
	Token func(*http.Request) string
	// Origins are the origins whose pages may read the stream, such as
	// "https://example.com", or "*" for all (Fetch Standard, 3.3). They need the handler to be
	// mounted for OPTIONS too. Default: only the page's own.
	Origins []string

	hub       *Hub
	authorize func(*http.Request) ([]string, error)
	cannot    sync.Once // say that there are no streams, see CanFlush
}

// ErrUnauthorized, when an authorize function returns it, wrapped or not, answers with 401
// instead of 403: the client has to say who it is.
var ErrUnauthorized = errors.New("push: unauthorized")

// Handler returns a handler that serves the hub's stream. authorize says what the client of
// a request may listen to, as names and patterns. A client that asks for something else gets
// 403, and one that asks for nothing gets all that it may, up to 16 times Options.MaxFilters.
// What users have chosen, such as their names, goes into names by [topic.Join]. Nil:
// everybody may listen to everything, which has to be asked for.
func (h *Hub) Handler(authorize func(*http.Request) (topics []string, err error)) *Handler {
	return &Handler{hub: h, authorize: authorize}
}

// ServeHTTP implements http.Handler, under any server. On a redline.Server it returns at
// once, and the loop of the connection serves the stream.
//
// The ResponseWriter has to be one that can flush, see [CanFlush]; otherwise the answer is 500,
// and Options.Logger is told once.
//
// Other protocols can be served through a ResponseWriter of their own, without Unwrap to one
// of a redline.Server: WriteHeader with 200 begins the stream, and then each message of the
// format is one Write. The stream ends when the request's context is done. Deadlines are set
// through http.ResponseController; one in the past cuts the client, and comes from any
// goroutine.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := asked(r)
	j, status, text := h.look(w.Header(), a)
	if j != nil {
		ok, err := h.hub.serveLooped(j, w.Header(), func(l *looped) (*redline.Subscription, error) { return redline.Subscribe(w, l) })
		if !ok {
			err = h.servePlain(w, r, j)
		}
		if err == nil {
			return
		}
		if errors.Is(err, errFlush) {
			status, text = h.refuse(w.Header(), &refusal{status: http.StatusInternalServerError, text: err.Error()})
		} else {
			status, text = h.turnAway(w.Header(), a, j, err)
		}
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(text))
	}
}

// Serve is the native handler, for a redline.Server. It does what ServeHTTP does, with less
// memory for each subscriber.
func (h *Handler) Serve(c *redline.Ctx) {
	header, a := nativeHeader{c}, askedNatively(c)
	defer a.done()
	j, status, text := h.look(header, a)
	if j != nil {
		_, err := h.hub.serveLooped(j, header, func(l *looped) (*redline.Subscription, error) { return c.Subscribe(l), nil })
		if err == nil {
			return
		}
		status, text = h.turnAway(header, a, j, err)
	}
	c.Status(status)
	_, _ = c.WriteString(text) // not sent to HEAD; a client that has left needs no answer
}

// look decides about a request: it gets a stream, or an answer.
func (h *Handler) look(header fields, a *ask) (j *joining, status int, text string) {
	h.cors(header, a)
	if a.method == http.MethodOptions {
		header.Set("Allow", allowed)
		return nil, http.StatusNoContent, ""
	}
	j, refused := h.parse(a)
	if refused != nil {
		status, text = h.refuse(header, refused)
		return nil, status, text
	}
	if err := h.hub.pace(j); err != nil {
		status, text = h.turnAway(header, a, j, err)
		return nil, status, text
	}
	if a.method == http.MethodHead {
		s := new(subscriber)
		if err := h.hub.admit(s, j); err != nil {
			status, text = h.turnAway(header, a, j, err)
			return nil, status, text
		}
		h.hub.dismissed(s)
		h.hub.head(header, j)
		return nil, http.StatusOK, ""
	}
	return j, 0, ""
}

// turnAway answers a request that the hub does not take now. An EventSource ends for good on any status
// but 200 (HTML Living Standard, 9.2.3): it gets a stream that says bye, and comes again.
func (h *Handler) turnAway(header fields, a *ask, j *joining, why error) (status int, text string) {
	r := refusals[refusalAt(why)]
	if f := h.hub.encodings[j.encoding]; r.bye != "" && f.MediaType() == eventStream && accepts(a.accept, eventStream) {
		h.hub.head(header, j)
		return http.StatusOK, string(f.AppendBye(nil, &format.Bye{Reason: r.bye, Retry: h.hub.retryAfter(byeShutdown) + j.wait}))
	}
	return h.refuse(header, refusalFor(why, j))
}

const eventStream = "text/event-stream"

const allowed = "GET, HEAD, OPTIONS"

// A refusal is an answer without a stream.
type refusal struct {
	status int
	text   string        // what is wrong, and what to do
	wait   time.Duration // before which it is of no use to come again
}

// refuse sets the fields of a refusal.
func (h *Handler) refuse(header fields, r *refusal) (status int, text string) {
	switch r.status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		seconds := max(int((h.hub.retryAfter(byeShutdown)+r.wait).Seconds()+1), 1)
		header.Set("Retry-After", strconv.Itoa(seconds))
	case http.StatusMethodNotAllowed:
		header.Set("Allow", allowed)
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	}
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	return r.status, r.text + "\n"
}

// parse reads a request for a stream.
func (h *Handler) parse(a *ask) (*joining, *refusal) {
	w, refused := h.wishes(a)
	if refused != nil {
		return nil, refused
	}
	j := &a.joining
	var ok bool
	if j.encoding, ok = h.hub.choose(w.format, a.accept); !ok {
		return nil, &refusal{status: http.StatusNotAcceptable, text: "choose a format by Accept or ?format=: " + h.hub.choices()}
	}
	if j.lastID = strings.Clone(a.lastID); j.lastID == "" {
		j.lastID = strings.Clone(w.lastID) // which would keep the whole query in memory
	}
	if !mayBeID(j.lastID) {
		return nil, &refusal{status: http.StatusBadRequest, text: "Last-Event-ID is not an ID of an event: send back the one received, or none"}
	}
	return h.permit(a, &w)
}

// wishes reads what a request asks for.
func (h *Handler) wishes(a *ask) (w wish, refused *refusal) {
	if a.method != http.MethodGet && a.method != http.MethodHead {
		return w, &refusal{status: http.StatusMethodNotAllowed, text: "events are read with GET"}
	}
	w, err := a.wishes()
	switch {
	case errors.Is(err, errParameters):
		return w, &refusal{status: http.StatusBadRequest, text: "the query has too many parameters: at most " + strconv.Itoa(mostParameters)}
	case errors.Is(err, errPresence):
		return w, &refusal{status: http.StatusBadRequest, text: err.Error()}
	case err != nil:
		return w, &refusal{status: http.StatusBadRequest, text: "the query is malformed: write % as %25, ; as %3B and & as %26"}
	}
	return w, nil
}

// permit finds out who asks, and what of it may be had.
func (h *Handler) permit(a *ask, w *wish) (j *joining, refused *refusal) {
	j = &a.joining
	j.presence = w.presence
	var err error
	var r *http.Request
	if h.authorize != nil || h.User != nil || h.Until != nil || h.Address != nil || h.Token != nil {
		if r, err = a.request(h.authorize != nil); err != nil {
			return nil, &refusal{status: http.StatusBadRequest, text: "the target is not a URL"}
		}
	}
	if j.asked, refused = h.filters(r, w.topics); refused != nil {
		return nil, refused
	}
	j.filters = without(j.asked)
	if h.User != nil {
		j.user = h.User(r)
	}
	if h.Until != nil {
		j.until = h.Until(r)
	}
	if h.Token != nil {
		j.token = h.Token(r)
	}
	switch {
	case h.Address != nil:
		j.address, j.named = h.Address(r), true
	case h.hub.o.MaxPerAddress < unbounded || h.hub.o.Registry != nil || h.hub.broker != nil:
		j.address = a.host()
	default:
		j.address = a.outerHost()
	}
	return j, nil
}

// grants is how many times MaxFilters a client may have that asks for nothing: the list is
// then the service's own, and the client could not make it shorter.
const grants = 16

// filters returns what a request may listen to of what it asks for. r is nil if there is no authorize
// function.
func (h *Handler) filters(r *http.Request, asked []string) ([]string, *refusal) {
	most, own := h.hub.o.MaxFilters, false // the list is the service's own
	var granted []string
	if h.authorize != nil {
		var refused *refusal
		if granted, refused = h.granted(r); refused != nil {
			return nil, refused
		}
		if len(asked) == 0 {
			asked, own = granted, true
			most *= grants
		}
	}
	var known, may cover
	if !own {
		may = newCover(granted)
	}
	for _, f := range asked {
		if err := topic.CheckPattern(f); err != nil {
			return nil, &refusal{status: http.StatusBadRequest, text: err.Error()}
		}
		if known.has(f) {
			continue
		}
		switch {
		case len(known.all) < most:
		case own:
			return nil, &refusal{status: http.StatusBadRequest, text: "you may listen to more than one stream can have: name what you want by ?topic=NAME, once for each"}
		default:
			return nil, &refusal{status: http.StatusBadRequest, text: "too many topics: at most " + strconv.Itoa(most) + ", or use a pattern"}
		}
		if h.authorize != nil && !own && !may.covers(f) {
			return nil, &refusal{status: http.StatusForbidden, text: "you may not listen to the topic " + strconv.Quote(f)}
		}
		if p := h.hub.o.private(f); h.authorize == nil && p != "" {
			return nil, &refusal{status: http.StatusForbidden, text: "you may not listen to " + strconv.Quote(f) + ": " + strconv.Quote(p) + " is private"}
		}
		known.add(strings.Clone(f))
	}
	if len(known.all) == 0 {
		return nil, &refusal{status: http.StatusBadRequest, text: "say what to listen to: ?topic=NAME, once for each, or a pattern such as orders/*"}
	}
	return known.all, nil
}

// granted returns what the authorize function lets a request listen to.
func (h *Handler) granted(r *http.Request) ([]string, *refusal) {
	granted, err := h.authorize(r)
	switch {
	case errors.Is(err, ErrUnauthorized):
		return nil, &refusal{status: http.StatusUnauthorized, text: "say who you are: the request has no valid credentials"}
	case err != nil:
		return nil, &refusal{status: http.StatusForbidden, text: "you may not listen here"}
	case slices.ContainsFunc(granted, func(g string) bool { return topic.CheckPattern(g) != nil }):
		// Made of a name that a user has chosen, it could select anything.
		return nil, &refusal{status: http.StatusForbidden, text: "you may not listen here: one of the topics that are granted is no topic and no pattern"}
	}
	return granted, nil
}

// head sets the fields of a response with a stream.
func (h *Hub) head(header fields, j *joining) {
	header.Set("Content-Type", h.encodings[j.encoding].MediaType())
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would keep events back
	if given, ok := header.(http.Header); !ok || !slices.Contains(given["Vary"], "Accept") {
		header.Add("Vary", "Accept")
	}
}

// tchar are the characters of a field's name (RFC 9110, section 5.6.2).
const tchar = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// further returns the fields that a preflight asks for, which the page sends for the service's own
// use: its origin may send whatever it can, and the handler of the service decides.
func further(lists []string) string {
	var b strings.Builder
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); b.Len() < maxField && name != "" && strings.Trim(name, tchar) == "" {
				b.WriteString(", " + name)
			}
		}
	}
	return b.String()
}

// cors allows pages of other origins to read the answer, errors included.
func (h *Handler) cors(header fields, a *ask) {
	if len(h.Origins) == 0 || a.origin == "" {
		return
	}
	switch {
	case slices.Contains(h.Origins, a.origin):
		header.Set("Access-Control-Allow-Origin", a.origin)
		header.Set("Access-Control-Allow-Credentials", "true")
		header.Add("Vary", "Origin")
	case slices.Contains(h.Origins, "*"):
		header.Set("Access-Control-Allow-Origin", "*")
	default:
		return
	}
	header.Set("Access-Control-Expose-Headers", "Retry-After")
	if a.method == http.MethodOptions {
		header.Set("Access-Control-Allow-Methods", allowed)
		header.Set("Access-Control-Allow-Headers", "Accept, Authorization, Cache-Control, Last-Event-ID"+further(a.values("Access-Control-Request-Headers")))
		header.Add("Vary", "Access-Control-Request-Headers")
		header.Set("Access-Control-Max-Age", "86400")
	}
}
