package push

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/push/topic"
)

// presence tells those who ask for it who comes to a topic and leaves it, of the topics of rules with
// Presence. However many come and go, it tells a topic's watchers once a round.
//
//	subscribers of this node ─┐
//	                          ├─▶ gatherings ── round ──▶ news of watchers ──▶ their turns
//	changes of other nodes ───┘
//
// The order of locks is hub, shard, presence.
type presence struct {
	hub    *Hub
	on     bool // some rule has Presence
	shared bool // other nodes are asked, see survey
	bytes  atomic.Int64

	telling    sync.Mutex // one tells at a time, in order; before all other locks
	mu         sync.Mutex
	gatherings map[string]*gathering
	names      topic.Tree[gathering] // those that are no patterns
	watchers   topic.Tree[audience]
	changed    map[*gathering]struct{}
	tellings   uint64 // how often something was told
	next       int64  // when the next round may be, on the hub's clock

	unknown map[*gathering]struct{} // to be asked for
	ask     chan struct{}           // of capacity 1: there are some
}

// A gathering is who listens to one topic, or has one pattern.
type gathering struct {
	filter  string
	members map[string]attendee // by Member.ID
	users   map[string]*guest
	news    map[string]struct{} // users whose guest may have changed
	shown   int                 // users whom the watchers know
	known   bool                // the other nodes were asked
	touched map[string]struct{} // members that have changed while the other nodes are asked
	told    *message            // says who is here; nil if it would say something else now
}

type attendee struct{ user, node string }

// A guest is a user in a gathering, with any number of members.
type guest struct {
	n     int
	shown bool  // the watchers know of it
	left  int64 // when the last member left, on the hub's clock
}

// An audience is who watches one topic or pattern.
type audience struct{ subs map[*subscriber]struct{} }

const (
	// presenceEvery is the time between two rounds.
	presenceEvery = time.Second
	// namedUsers and namedBytes are how many users one event names.
	namedUsers = 100
	namedBytes = 8 << 10
	// mostNews is how many events of presence wait for a subscriber: instead of more, it is told who
	// is there when it has time. mostGatherings is of how many topics that is, and gatheringNodes of how
	// many nodes of the tree all its patterns together look for them.
	mostNews       = 4
	mostGatherings = 64
	gatheringNodes = 512
	// What a gathering, a member and a user of it, and a filter of a watcher count for, beyond their texts.
	gatheringBytes = 512
	attendeeBytes  = 128
	guestBytes     = 256
	audienceBytes  = 256
	// roundTells is how many events a round gives out, apart from those of its last topic. What is left
	// is told in the next one, with what has changed until then.
	roundTells = 200_000
)

func (p *presence) init(h *Hub) {
	p.hub = h
	p.on = slices.ContainsFunc(h.o.Rules, func(r Rule) bool { return r.Presence })
	p.gatherings, p.changed, p.unknown = map[string]*gathering{}, map[*gathering]struct{}{}, map[*gathering]struct{}{}
	p.ask = make(chan struct{}, 1)
}

// shows reports whether it is told who has a topic or pattern: the first rule that selects all of it
// says so.
func (p *presence) shows(filter string) bool {
	if !p.on {
		return false
	}
	for i := range p.hub.o.Rules {
		if r := &p.hub.o.Rules[i]; r.Pattern == filter || topic.Covers(r.Pattern, filter) {
			return r.Presence
		}
	}
	return false
}

// watches reports whether a filter may select topics, or is one, of which it is told who has them.
func (p *presence) watches(filter string) bool {
	return p.on && (topic.IsPattern(filter) || p.shows(filter))
}

// count counts memory in Options.MaxBytes, and in the half of it that subscribers may take.
func (p *presence) count(n int) {
	p.bytes.Add(int64(n))
	p.hub.bytes.Add(int64(n))
}

// follow has a subscriber hear from the gatherings that its filters select.
func (p *presence) follow(s *subscriber, filters []string) {
	w := &watch{fresh: true}
	for _, f := range filters {
		if p.watches(f) {
			w.filters = append(w.filters, f)
		}
	}
	if len(w.filters) == 0 {
		return
	}
	s.needs().watch = w
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range w.filters {
		a := p.watchers.Get(f)
		if a == nil {
			a = &audience{subs: map[*subscriber]struct{}{}}
			p.watchers.Put(f, a)
		}
		a.subs[s] = struct{}{}
		if p.shows(f) {
			p.gathering(f) // so that it is told who is there, be it nobody
		}
	}
}

// unfollow is the reverse of follow.
func (p *presence) unfollow(s *subscriber, w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range w.filters {
		if a := p.watchers.Get(f); a != nil {
			if delete(a.subs, s); len(a.subs) == 0 {
				p.watchers.Delete(f)
			}
		}
		if c := p.gatherings[f]; c != nil {
			p.tidy(c)
		}
	}
}

// gathering returns the gathering of a topic or pattern, which it makes if there is none.
func (p *presence) gathering(filter string) *gathering {
	c := p.gatherings[filter]
	if c != nil {
		return c
	}
	c = &gathering{filter: strings.Clone(filter), members: map[string]attendee{}, users: map[string]*guest{}, news: map[string]struct{}{}, known: !p.shared}
	p.gatherings[c.filter] = c
	p.count(gatheringBytes + nodeBytes(filter))
	if !topic.IsPattern(filter) {
		p.names.Put(c.filter, c)
	}
	if p.shared {
		p.inquire(c)
	}
	return c
}

// tidy forgets a gathering that has nobody, and that nobody watches.
func (p *presence) tidy(c *gathering) {
	if len(c.members)+len(c.users) > 0 || p.watchers.Get(c.filter) != nil || p.gatherings[c.filter] != c {
		return
	}
	delete(p.gatherings, c.filter)
	delete(p.changed, c)
	delete(p.unknown, c)
	if !topic.IsPattern(c.filter) {
		p.names.Delete(c.filter)
	}
	p.count(-gatheringBytes - nodeBytes(c.filter))
	p.stale(c)
}

// stale notes that what was told last is not so any more.
func (p *presence) stale(c *gathering) {
	if c.told != nil {
		p.bytes.Add(-toldBytes(c.told))
		c.told.release()
		c.told = nil
	}
}

// join notes a member of some node. One without a user is nobody. It takes the lock.
func (p *presence) join(m *Member, node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range m.Filters {
		if m.User != "" && p.shows(f) {
			p.enter(p.gathering(f), m, node)
		}
	}
}

// leave is the reverse of join.
func (p *presence) leave(m *Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range m.Filters {
		if c := p.gatherings[f]; c != nil {
			p.exit(c, m.ID)
		}
	}
}

func (p *presence) enter(c *gathering, m *Member, node string) {
	c.touch(m.ID)
	if _, had := c.members[m.ID]; had {
		return
	}
	c.members[m.ID] = attendee{m.User, node}
	p.count(attendeeBytes + len(m.ID))
	g := c.users[m.User]
	if g == nil {
		g = new(guest)
		c.users[m.User] = g
		p.count(guestBytes + len(m.User))
	}
	if g.n++; g.n == 1 {
		p.change(c, m.User)
	}
}

// touch notes that what the registry says of a member may be older than what is known.
func (c *gathering) touch(id string) {
	if c.touched != nil {
		c.touched[id] = struct{}{}
	}
}

func (p *presence) exit(c *gathering, id string) {
	c.touch(id)
	a, had := c.members[id]
	if !had {
		return
	}
	delete(c.members, id)
	p.count(-attendeeBytes - len(id))
	if g := c.users[a.user]; g != nil {
		if g.n--; g.n == 0 {
			g.left = p.hub.now()
			p.change(c, a.user)
		}
	}
}

func (p *presence) change(c *gathering, user string) {
	c.news[user] = struct{}{}
	p.changed[c] = struct{}{}
}

// pending reports whether there is something to tell later.
func (p *presence) pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.changed) > 0
}
