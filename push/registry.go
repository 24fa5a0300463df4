package push

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// A Registry knows who is connected to the hubs of a cluster. Its methods may be called by
// any number of goroutines.
type Registry interface {
	// Update reports what has changed on a node, and renews its lease. A node that does
	// not renew it is forgotten with its members.
	Update(ctx context.Context, u Update) error
	// Counts returns how many members have each of these filters: exactly this topic or
	// pattern.
	Counts(ctx context.Context, filters []string) ([]int, error)
	// Members returns members with exactly this topic or pattern, at most so many.
	Members(ctx context.Context, filter string, most int) ([]Member, error)
}

// A Member is a subscriber as others see it.
type Member struct {
	ID      string   // among all nodes, see Ending.Connection
	User    string   // see Handler.User
	Address string   // see Handler.Address
	Filters []string // what it asked for, or was granted, each once
	Since   time.Time
}

// An Update says what has changed on a node.
type Update struct {
	Node   string
	TTL    time.Duration // of the lease, from now
	Whole  bool          // Joined is everybody: others of the node have left
	Joined []Member
	Left   []Member
}

// wanted is what a client asked for, with what others of it cover.
func (j *joining) wanted() []string {
	if j.asked == nil {
		return j.filters
	}
	return j.asked
}

// joined notes a new subscriber for the registry, and for presence.
func (h *Hub) joined(s *subscriber, j *joining) {
	filters := j.wanted()
	if j.presence {
		h.presence.follow(s, filters)
	}
	attends := j.user != "" && slices.ContainsFunc(filters, h.presence.shows)
	if h.o.Registry == nil && !attends {
		return
	}
	m := h.enroll(s, j, filters)
	if attends {
		h.presence.join(m, h.o.Node)
	}
}

// enroll makes a member of a subscriber.
func (h *Hub) enroll(s *subscriber, j *joining, filters []string) *Member {
	c := &h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &Member{
		ID: h.connection(s.number), User: strings.Clone(j.user), Address: strings.Clone(j.address),
		Filters: slices.Clone(filters), Since: time.Now(),
	}
	if s.needs().member = m; h.o.Registry != nil {
		c.joined[m] = true
		c.change()
	}
	return m
}

// left notes that a subscriber has gone.
func (h *Hub) left(s *subscriber) {
	if s.rare == nil {
		return
	}
	if s.rare.watch != nil {
		h.presence.unfollow(s, s.rare.watch)
	}
	if s.rare.member == nil {
		return
	}
	m, c := s.rare.member, &h.cluster
	if h.presence.leave(m); h.o.Registry == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.joined[m] {
		delete(c.joined, m) // the registry never heard of it
		return
	}
	c.left = append(c.left, *m)
	c.change()
}

func (c *cluster) change() {
	if len(c.joined)+len(c.left) > maxChanges {
		clear(c.joined)
		c.left, c.whole = nil, true
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// register keeps the registry up to date: changes soon, everything after an error, and the
// lease always. At the end it takes the node out.
func (h *Hub) register() {
	c := &h.cluster
	renew := time.NewTicker(h.o.RegistryTTL / 3)
	defer renew.Stop()
	for {
		h.update(c.ctx)
		wait := time.NewTimer(min(pause, h.o.RegistryTTL/10)) // changes travel together
		select {
		case <-wait.C:
		case <-c.ctx.Done():
		}
		wait.Stop()
		select {
		case <-c.changed:
		case <-renew.C:
		case <-c.ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), h.o.RegistryTTL/3)
			defer cancel()
			if err := h.o.Registry.Update(ctx, Update{Node: h.o.Node, TTL: h.o.RegistryTTL, Whole: true}); err != nil {
				h.o.Logger.Warn("push: the registry keeps this node until its lease ends", "error", err)
			}
			return
		}
	}
}

func (h *Hub) update(ctx context.Context) {
	u := h.changes()
	ctx, cancel := context.WithTimeout(ctx, h.o.RegistryTTL/3)
	defer cancel()
	err := h.o.Registry.Update(ctx, u)
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	h.o.Logger.Warn("push: registry out of reach", "error", err)
	c := &h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = true
	c.change()
}

// changes takes what the registry has to be told.
func (h *Hub) changes() Update {
	u := Update{Node: h.o.Node, TTL: h.o.RegistryTTL}
	h.mu.Lock() // nobody joins meanwhile
	defer h.mu.Unlock()
	c := &h.cluster
	c.mu.Lock()
	u.Whole = c.whole
	for m := range c.joined {
		u.Joined = append(u.Joined, *m)
	}
	u.Left = c.left
	clear(c.joined)
	c.left, c.whole = nil, false
	c.mu.Unlock()
	if !u.Whole {
		return u
	}
	u.Joined, u.Left = nil, nil
	for _, sh := range h.shards {
		sh.mu.Lock()
		for _, s := range sh.all {
			if s.rare != nil && s.rare.member != nil {
				u.Joined = append(u.Joined, *s.rare.member)
			}
		}
		sh.mu.Unlock()
	}
	return u
}
