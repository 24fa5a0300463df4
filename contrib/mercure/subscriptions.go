package mercure

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push"
)

const (
	subscriptionsPath   = "/subscriptions"
	subscriptionsPrefix = Path + subscriptionsPath + "/" // of their topics
	ldContext           = "https://mercure.rocks/"
)

// subscriptionsKept is how many events of subscriptions are kept, as far as their bytes allow.
const subscriptionsKept = 10_000

// A member is a subscriber with its subscriptions: one for each selector.
type member struct {
	id      string
	topics  []string
	payload any
}

// A registry knows the members of this endpoint.
type registry struct {
	mu      sync.Mutex
	members map[string]*member
}

func (g *registry) init() { g.members = map[string]*member{} }

// A subscription is a document of the events and of the API (Active Subscriptions).
type subscription struct {
	Context     string `json:"@context,omitempty"`
	ID          string `json:"id"`
	Type        string `json:"type"`
	Topic       string `json:"topic"`
	Subscriber  string `json:"subscriber"`
	Active      bool   `json:"active"`
	Payload     any    `json:"payload,omitempty"`
	LastEventID string `json:"lastEventID,omitempty"`
}

// A collection is a document of the API.
type collection struct {
	Context       string         `json:"@context"`
	ID            string         `json:"id"`
	Type          string         `json:"type"`
	LastEventID   string         `json:"lastEventID"`
	Subscriptions []subscription `json:"subscriptions"`
}

// subscriptionURL expands a template of the specification: each part is encoded as a whole
// (RFC 6570, 3.2.2).
func subscriptionURL(parts ...string) string {
	u := Path + subscriptionsPath
	for _, p := range parts {
		u += "/" + strings.ReplaceAll(url.QueryEscape(p), "+", "%20")
	}
	return u
}

func (m *member) subscription(topic string, active bool) subscription {
	return subscription{
		ID: subscriptionURL(topic, m.id), Type: "Subscription", Topic: topic,
		Subscriber: m.id, Active: active, Payload: m.payload,
	}
}

// begun notes that a stream was opened, and publishes that.
func (e *Endpoint) begun(m *member) {
	if !e.o.Subscriptions {
		return
	}
	m.id = newID()
	e.active.mu.Lock()
	e.active.members[m.id] = m
	e.active.mu.Unlock()
	e.announce(m, true)
}

// ended is the reverse of begun.
func (e *Endpoint) ended(m *member) {
	if !e.o.Subscriptions {
		return
	}
	e.active.mu.Lock()
	delete(e.active.members, m.id)
	e.active.mu.Unlock()
	e.announce(m, false)
}

// announce publishes the events of a subscriber's subscriptions. Nobody is told while the
// endpoint is shut down, or if there are no keys for those who could read them.
func (e *Endpoint) announce(m *member, active bool) {
	if e.subscribers == nil {
		return
	}
	for _, t := range m.topics {
		doc := m.subscription(t, active)
		doc.Context = ldContext
		data, err := json.Marshal(doc)
		if err != nil {
			continue // never: the payload came from JSON
		}
		_, _ = e.publish(context.Background(), Update{Topics: []string{doc.ID}, Data: string(data), Private: true})
	}
}

// serveSubscriptions answers with the subscriptions there are (Subscription API): all, those
// of a topic, or one.
func (e *Endpoint) serveSubscriptions(w http.ResponseWriter, r *http.Request, rest string) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		return refusal{http.StatusMethodNotAllowed, "subscriptions are read with GET"}
	}
	var parts []string
	if rest != "" {
		for p := range strings.SplitSeq(rest[1:], "/") {
			part, err := url.PathUnescape(p)
			if err != nil || part == "" || len(parts) == 2 {
				return refusal{http.StatusNotFound, "no such subscription: the path is " + Path + subscriptionsPath + "/TOPIC/SUBSCRIBER, each percent-encoded"}
			}
			parts = append(parts, part)
		}
	}
	at := subscriptionURL(parts...)
	c, err := e.identify(r)
	switch {
	case err != nil:
		return err
	case c == nil:
		return push.ErrUnauthorized
	}
	if granted, err := newSelectors(c.Mercure.Subscribe); err != nil || !matchAny(granted, at) {
		return pushjwt.ErrForbidden
	}
	last := *e.last.Load() // before the list, so that a client that resumes there misses nothing
	found := e.active.find(parts)
	var doc any = collection{Context: ldContext, ID: at, Type: "Subscriptions", LastEventID: last, Subscriptions: found}
	if len(parts) == 2 {
		if len(found) == 0 {
			return refusal{http.StatusNotFound, "no such subscription"}
		}
		found[0].Context, found[0].LastEventID = ldContext, last
		doc = found[0]
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err // never: the payloads came from JSON
	}
	sum := sha256.Sum256(text)
	header := w.Header()
	header.Set("Content-Type", "application/ld+json")
	header.Set("Cache-Control", "private, must-revalidate")
	header.Set("ETag", strconv.Quote(hex.EncodeToString(sum[:])))
	header.Add("Link", "<"+Path+`>; rel="mercure"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(append(text, '\n')))
	return nil
}

// find returns the subscriptions of a topic and a subscriber, or of all, in the order of
// their IDs.
func (g *registry) find(parts []string) []subscription {
	found := []subscription{}
	g.mu.Lock()
	for _, m := range g.members {
		for _, t := range m.topics {
			if len(parts) > 0 && parts[0] != t || len(parts) > 1 && parts[1] != m.id {
				continue
			}
			found = append(found, m.subscription(t, true))
		}
	}
	g.mu.Unlock()
	slices.SortFunc(found, func(a, b subscription) int { return cmp.Compare(a.ID, b.ID) })
	return found
}
