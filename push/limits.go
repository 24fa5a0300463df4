package push

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// subscriberBytes is what a subscriber counts for in Options.MaxBytes.
const subscriberBytes = 512

// What a filter counts for beyond its text: each segment may be a node of the index. A subscriber
// has freeBytes of that in subscriberBytes.
const (
	segmentBytes = 300
	freeBytes    = 2 << 10
)

// weigh returns what a subscriber with these filters counts for in Options.MaxBytes, with what is kept of
// it beside them.
func weigh(filters []string, beside int) int64 {
	n := beside
	for _, f := range filters {
		n += nodeBytes(f)
	}
	return int64(subscriberBytes + max(n-freeBytes, 0))
}

func nodeBytes(filter string) int { return len(filter) + segmentBytes*(strings.Count(filter, "/")+1) }

// beside returns what is kept of a subscriber beside its filters: its names, and all that it asked for, by
// the registry and by presence, although others cover it.
func (h *Hub) beside(j *joining) int {
	n := 2 * (len(j.user) + len(j.token) + len(j.address))
	if h.o.Registry == nil && !h.presence.on {
		return n
	}
	for _, f := range j.wanted() {
		if h.o.Registry != nil || j.user != "" && h.presence.shows(f) {
			n += itemBytes + len(f)
		}
		if j.presence && h.presence.watches(f) {
			n += audienceBytes + nodeBytes(f)
		}
	}
	return n
}

// limits counts subscribers. Its lock comes after those of hub and shard.
type limits struct {
	mu        sync.Mutex
	count     int
	bytes     int64                 // what they count for in Options.MaxBytes
	refused   [len(refusals)]uint64 // for each reason
	addresses map[string]*tally
	users     map[string]*tally
	tokens    map[string]*tally
	revoked   revocations
}

// A tally counts the subscribers that have something in common.
type tally struct {
	name string
	n    int           // those that were admitted
	subs []*subscriber // of a user or token: those of them that have joined, in no order
}

func (l *limits) init() {
	l.addresses, l.users, l.tokens = map[string]*tally{}, map[string]*tally{}, map[string]*tally{}
	l.revoked.init()
}

func (l *limits) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// admit counts a subscriber, or says why it cannot be taken.
func (h *Hub) admit(s *subscriber, j *joining) error {
	h.mu.Lock()
	closed, unknown := h.closed, h.broker != nil && !h.cluster.known
	h.mu.Unlock()
	beside := h.beside(j)
	weight := weigh(j.filters, beside)
	if h.bytes.Load()+weight > h.o.MaxBytes {
		h.relieve(weight) // it is not those who come that keep too much
	}
	l := &h.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	var address, user, token *tally
	var err error
	switch {
	case closed:
		err = errClosing
	case unknown:
		err = errBroker
	case l.revoked.has(h.now(), j.user, j.token):
		err = errRevoked
	case l.count >= h.o.MaxSubscribers:
		err = errFull
	case l.bytes+h.presence.bytes.Load()+weight > h.o.MaxBytes/2 || h.bytes.Load()+weight > h.o.MaxBytes+h.coming.Load():
		err = errMemory
	case j.address != "" && h.o.MaxPerAddress < unbounded && !take(l.addresses, network(j.address), h.o.MaxPerAddress, &address):
		err = errAddress
	case j.user != "" && !take(l.users, j.user, h.o.MaxPerUser, &user):
		give(l.addresses, address)
		err = errUser
	case j.token != "":
		take(l.tokens, j.token, math.MaxInt, &token)
	}
	if err != nil {
		l.refuse(err)
		return err
	}
	l.count++
	filters := j.filters
	if !slices.IsSorted(filters) {
		filters = slices.Sorted(slices.Values(filters)) // see placeIn
	}
	s.filters = &filters
	if address != nil || user != nil || token != nil {
		r := s.needs()
		r.address, r.user, r.token = address, user, token
	}
	if weight != weigh(j.filters, 0) {
		s.needs().beside = beside
	}
	l.bytes += weight
	h.bytes.Add(weight)
	return nil
}

// withdraw is the reverse of admit. It returns how many subscribers remain.
func (h *Hub) withdraw(s *subscriber) int {
	l := &h.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	beside := 0
	if s.rare != nil {
		beside = s.rare.beside
		l.exit(s)
		give(l.addresses, s.rare.address)
		give(l.users, s.rare.user)
		give(l.tokens, s.rare.token)
	}
	l.count--
	weight := weigh(*s.filters, beside)
	l.bytes -= weight
	h.bytes.Add(-weight)
	return l.count
}

// enter notes who has joined, for End, and reports whether it may not listen any more: between the two,
// nobody passes. The lock of its shard is held.
func (l *limits) enter(now int64, s *subscriber) (revoked bool) {
	r := s.rare
	if r == nil || r.user == nil && r.token == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var user, token string
	if t := r.user; t != nil {
		user, r.userAt = t.name, int32(len(t.subs))
		t.subs = append(t.subs, s)
	}
	if t := r.token; t != nil {
		token, r.tokenAt = t.name, int32(len(t.subs))
		t.subs = append(t.subs, s)
	}
	return l.revoked.has(now, user, token)
}

// exit is the reverse of enter. One that was admitted and has not joined is nowhere. The lock is held.
func (l *limits) exit(s *subscriber) {
	if t, at := s.rare.user, s.rare.userAt; t.has(s, at) {
		t.drop(at).rare.userAt = at
	}
	if t, at := s.rare.token, s.rare.tokenAt; t.has(s, at) {
		t.drop(at).rare.tokenAt = at
	}
}

// has reports whether a subscriber is at a place.
func (t *tally) has(s *subscriber, at int32) bool {
	return t != nil && int(at) < len(t.subs) && t.subs[at] == s
}

// drop removes the subscriber at a place, and returns the one that takes it.
func (t *tally) drop(at int32) *subscriber {
	end := len(t.subs) - 1
	last := t.subs[end]
	t.subs[at], t.subs[end] = last, nil
	t.subs = t.subs[:end]
	return last
}

// network returns what a client's address counts as. Of an IPv6 address that is its /64, which
// a single client may have to choose from (RFC 6177, section 2), except for addresses of a link
// (RFC 4291, section 2.5.6), which all have the same.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || !ip.Is6() || ip.Is4In6() || ip.IsLinkLocalUnicast() {
		return address
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

func take(tallies map[string]*tally, name string, most int, to **tally) bool {
	t := tallies[name]
	if t == nil {
		t = &tally{name: strings.Clone(name)} // which may be a part of a whole request
		tallies[t.name] = t
	}
	if t.n >= most {
		return false
	}
	t.n++
	*to = t
	return true
}

func give(tallies map[string]*tally, t *tally) {
	if t == nil {
		return
	}
	if t.n--; t.n == 0 {
		delete(tallies, t.name)
	}
}

// refuse counts a subscriber that is not taken. The lock is held.
func (l *limits) refuse(why error) {
	l.refused[refusalAt(why)]++
}
