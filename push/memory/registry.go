package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redline-go/redline/push"
)

// A Registry knows the members of some hubs. It implements [push.Watcher].
type Registry struct {
	mu       sync.Mutex
	nodes    map[string]*node
	now      func() time.Time
	watchers map[*watcher]bool
}

type node struct {
	until   time.Time
	members map[string]push.Member
}

// NewRegistry returns an empty registry. now is its clock; nil: time.Now.
func NewRegistry(now func() time.Time) *Registry {
	if now == nil {
		now = time.Now
	}
	return &Registry{nodes: map[string]*node{}, now: now, watchers: map[*watcher]bool{}}
}

// Update implements push.Registry.
func (r *Registry) Update(ctx context.Context, u push.Update) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reap()
	c := push.Change{Node: u.Node}
	n := r.nodes[u.Node]
	if n == nil {
		n = &node{members: map[string]push.Member{}}
		r.nodes[u.Node] = n
	}
	n.until = r.now().Add(u.TTL)
	if u.Whole {
		gone := maps.Clone(n.members)
		for _, m := range u.Joined {
			delete(gone, m.ID)
		}
		u.Left = slices.Collect(maps.Values(gone))
	}
	for _, m := range u.Joined {
		if _, had := n.members[m.ID]; !had {
			c.Joined = append(c.Joined, m)
		}
		n.members[m.ID] = m
	}
	for _, m := range u.Left {
		if _, had := n.members[m.ID]; had {
			c.Left = append(c.Left, m)
		}
		delete(n.members, m.ID)
	}
	if len(n.members) == 0 {
		delete(r.nodes, u.Node)
	}
	r.tell(c)
	return nil
}

// Counts implements push.Registry.
func (r *Registry) Counts(ctx context.Context, filters []string) ([]int, error) {
	counts := make([]int, len(filters))
	for i, f := range filters {
		counts[i] = len(r.members(f))
	}
	return counts, ctx.Err()
}

// Members implements push.Registry.
func (r *Registry) Members(ctx context.Context, filter string, most int) ([]push.Member, error) {
	all := r.members(filter)
	return all[:min(len(all), most)], ctx.Err()
}

func (r *Registry) members(filter string) (found []push.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reap()
	for _, n := range r.nodes {
		for _, m := range n.members {
			if slices.Contains(m.Filters, filter) {
				found = append(found, m)
			}
		}
	}
	slices.SortFunc(found, func(a, b push.Member) int { return strings.Compare(a.ID, b.ID) })
	return found
}
