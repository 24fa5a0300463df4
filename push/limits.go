package push

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/redline-go/redline/push/topic"
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
	l.refused[slices.IndexFunc(refusals[:], func(r refused) bool { return r.why == why })]++
}

// Stats are the totals of a hub since its start, and its present state.
type Stats struct {
	Subscribers int    // now
	Topics      int    // whose history is known now
	Events      int    // in the history now
	Bytes       int64  // as bounded by Options.MaxBytes, now
	Published   uint64 // events, those of other nodes included
	Duplicates  uint64 // events that were not published because their ID was known
	Delivered   uint64 // events given to connections, each for each subscriber
	Queued      uint64 // of these, events that had to wait for their subscriber
	Dropped     uint64 // events that a subscriber did not get
	Conflated   uint64 // events that were replaced by a newer one with the same key
	Gaps        uint64 // gaps that were announced
	Heartbeats  uint64 // signs of life that were sent
	Refused     uint64 // subscribers that were over a limit
	EndedSlow   uint64 // subscribers ended by the policy Disconnect
	EndedMemory uint64 // subscribers ended because of MaxBytes
	EndedOld    uint64 // subscribers ended because of Lifetime

	Linked       bool   // the broker is in reach now, or there is none
	HistoryBytes int64  // of events in the history, with what each costs, now
	Waiting      int    // events in queues of subscribers, now
	WaitingBytes int64  // and their bytes: an event counts for each queue that refers to it
	Revoked      int    // users and tokens that may not listen, now
	Resumed      uint64 // subscribers that asked to resume
	// Endings are the subscribers that have left or were ended: "client" (it left by itself), "stalled"
	// (it did not accept a write in time), and by the hub "shutdown", "lifetime", "slow" (Disconnect),
	// "memory" (MaxBytes), "ended" and "revoked" (End).
	Endings map[string]uint64
	// Refusals are Refused by the limit: "subscribers", "memory", "address", "user", "connects",
	// "resumptions", or "shutdown", "broker", "revoked".
	Refusals map[string]uint64
}

// Stats returns the hub's figures. It takes every lock once; call it a few times a second
// at most.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits.mu.Lock()
	st := Stats{Subscribers: h.limits.count, Revoked: h.limits.revoked.len(), Endings: map[string]uint64{}, Refusals: map[string]uint64{}}
	for i, n := range h.limits.refused {
		st.Refused += n
		st.Refusals[refusals[i].name] = n
	}
	h.limits.mu.Unlock()
	st.HistoryBytes, st.Resumed, st.Linked = h.history.bytes, h.resumed, h.broker == nil || h.cluster.linked
	st.Topics, st.Events = len(h.history.logs), h.history.all.len()
	st.Bytes, st.Published, st.Duplicates = h.bytes.Load(), h.published.Load(), h.repeated.Load()
	for _, sh := range h.shards {
		sh.mu.Lock()
		c := sh.counts
		st.Waiting, st.WaitingBytes = st.Waiting+sh.waiting, st.WaitingBytes+sh.waitingBytes
		sh.mu.Unlock()
		st.add(&c)
	}
	st.add(&h.cluster.former)
	return st
}

func (st *Stats) add(c *counts) {
	st.Delivered += c.delivered
	st.Queued += c.queued
	st.Dropped += c.dropped
	st.Conflated += c.conflated
	st.Gaps += c.gaps
	st.Heartbeats += c.beats
	st.EndedSlow += c.ended[byeSlow]
	st.EndedMemory += c.ended[byeMemory]
	st.EndedOld += c.ended[byeLifetime]
	for why, n := range c.ended {
		st.Endings[reason(why).String()] += n
	}
}

// Subscribers returns how many subscribers of this node have exactly this topic or pattern, and no
// other one that covers it. A [Registry] counts those too.
func (h *Hub) Subscribers(filter string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, sh := range h.shards {
		sh.mu.Lock()
		if l := sh.index.Get(filter); l != nil {
			n += len(l.subs)
		}
		sh.mu.Unlock()
	}
	return n
}

// Topics returns the topics whose history is known and that a pattern selects, in no order.
func (h *Hub) Topics(pattern string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !topic.IsPattern(pattern) {
		if h.history.tree.Get(pattern) == nil {
			return nil
		}
		return []string{pattern}
	}
	var names []string
	for _, l := range h.history.tree.Select(nil, pattern) {
		names = append(names, l.name)
	}
	return names
}
