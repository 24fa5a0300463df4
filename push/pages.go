package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/redline-go/redline/push/format"
)

// History returns a handler that answers with a page of the history as JSON, see [Hub.Read], to those
// whom h would give a stream: the functions and fields of h are asked for both.
//
//	topic   a name or a pattern, once for each
//	from    ID to begin after, or before if the order is newest
//	order   "oldest" first, which is the default, or "newest"
//	limit   of events, 1 to 1000. Default: 100
//
// The document has the members events, each as a line of [format.NDJSON], position, next and gap, as
// those of [Page].
func (h *Handler) History() http.Handler { return http.HandlerFunc(h.serveHistory) }

func (h *Handler) serveHistory(w http.ResponseWriter, r *http.Request) {
	a := asked(r)
	h.cors(w.Header(), a)
	if a.method == http.MethodOptions {
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	j, q, refused := h.parsePage(a)
	if refused == nil {
		j.lastID = cmp.Or(q.From, earliest) // a page costs what a resumption does
		refused = h.hub.mayRead(j)
	}
	var body []byte
	if refused == nil && a.method == http.MethodGet {
		if body, refused = h.hub.page(r.Context(), q, j); refused == nil {
			defer h.hub.pages.give(h.hub, originOf(j), len(body))
		}
	}
	if refused != nil {
		status, text := h.refuse(w.Header(), refused)
		w.WriteHeader(status)
		body = []byte(text)
	} else {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(http.StatusOK)
	}
	if a.method == http.MethodHead {
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.hub.o.WriteTimeout)) // a server without deadlines has its own
	_, _ = w.Write(body)
}

// mayRead counts a request for a page, and refuses it if there are too many of its address or user, or if
// its right was withdrawn.
func (h *Hub) mayRead(j *joining) *refusal {
	if err := h.pace(j); err != nil {
		return refusalFor(err, j)
	}
	return h.withdrawn(j)
}

// withdrawn refuses those whose right was withdrawn.
func (h *Hub) withdrawn(j *joining) *refusal {
	l := &h.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.revoked.has(h.now(), j.user, j.token) {
		return nil
	}
	l.refuse(errRevoked)
	return refusalFor(errRevoked, j)
}

// parsePage reads a request for a page.
func (h *Handler) parsePage(a *ask) (j *joining, q Range, refused *refusal) {
	w, refused := h.wishes(a)
	if refused == nil {
		j, refused = h.permit(a, &w)
	}
	if refused != nil {
		return nil, q, refused
	}
	bad := func(text string) (*joining, Range, *refusal) {
		return nil, q, &refusal{status: http.StatusBadRequest, text: text}
	}
	values, err := url.ParseQuery(a.query)
	if err != nil {
		return bad("the query is malformed: write % as %25, ; as %3B and & as %26")
	}
	q.Topics, q.From = j.filters, values.Get("from")
	if !mayBeID(q.From) {
		return bad("from is not an ID of an event: send one that was received, or none")
	}
	switch values.Get("order") {
	case "", "oldest":
	case "newest":
		q.Backward = true
	default:
		return bad("the order is oldest, or newest first")
	}
	if text := values.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > mostRead {
			return bad("the limit is a number of events: 1 to " + strconv.Itoa(mostRead))
		}
	}
	if j.address == "" && h.Address == nil {
		j.address = a.host()
	}
	return j, q, nil
}

var errPages = errors.New("too many pages are on their way: try again later")

// page returns what is answered to a range. It is taken from pages, and the caller gives it back.
func (h *Hub) page(ctx context.Context, q Range, j *joining) ([]byte, *refusal) {
	origin := originOf(j)
	p, err := h.readPage(ctx, q, origin)
	if err != nil {
		return nil, &refusal{status: http.StatusServiceUnavailable, text: err.Error()}
	}
	if refused := h.withdrawn(j); refused != nil {
		return nil, refused // meanwhile
	}
	body := p.append(nil)
	if !h.pages.take(h, origin, len(body)) {
		h.pages.give(h, origin, len(body))
		return nil, &refusal{status: http.StatusServiceUnavailable, text: errPages.Error()}
	}
	return body, nil
}

// readPage reads a page, which counts as one of pageBytes until it is known what it weighs.
func (h *Hub) readPage(ctx context.Context, q Range, origin string) (Page, error) {
	defer h.pages.give(h, origin, pageBytes)
	if !h.pages.take(h, origin, pageBytes) {
		return Page{}, errPages
	}
	ctx, cancel := context.WithTimeout(ctx, h.o.WriteTimeout)
	defer cancel()
	p, err := h.read(ctx, q, origin)
	switch {
	case errors.Is(err, ErrClosed):
		err = errClosing
	case errors.Is(err, context.DeadlineExceeded):
		err = errBroker
	}
	return p, err
}

// append encodes a page.
func (p *Page) append(b []byte) []byte {
	b = append(b, `{"events":[`...)
	for i := range p.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = format.NDJSON.AppendEvent(b, &p.Events[i])
		b = b[:len(b)-1] // its line break
	}
	b = append(b, ']')
	member := func(name string, v any) {
		text, _ := json.Marshal(v) // of strings and numbers: there is no error
		b = append(append(append(b, `,"`+name...), `":`...), text...)
	}
	member("position", p.Position)
	if p.Next != "" {
		member("next", p.Next)
	}
	if p.Gap != nil {
		member("gap", p.Gap)
	}
	return append(b, '}', '\n')
}

// pages counts the bytes of pages that are being read or sent: clients may take long to read them. They are a
// sixteenth of Options.MaxBytes at most, half of it for one origin.
type pages struct {
	mu    sync.Mutex
	total int64
	by    map[string]int64
}

// take counts a page, and reports false if there is no room for it. One page always has.
func (p *pages) take(h *Hub, origin string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]int64{}
	}
	had := p.by[origin]
	p.total += int64(n)
	p.by[origin] += int64(n)
	h.bytes.Add(int64(n))
	most := h.o.MaxBytes / 16
	return (p.total <= most || p.total == int64(n)) && (p.by[origin] <= most/2 || had == 0)
}

// give is the reverse of take, whatever that has reported.
func (p *pages) give(h *Hub, origin string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total -= int64(n)
	if p.by[origin] -= int64(n); p.by[origin] == 0 {
		delete(p.by, origin)
	}
	h.bytes.Add(-int64(n))
}
