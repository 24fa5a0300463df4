package memory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redline-go/redline/push"
)

// A Registry knows the members of some hubs. It implements [push.Registry].
type Registry struct {
	mu    sync.Mutex
	nodes map[string]*node
	now   func() time.Time
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
	return &Registry{nodes: map[string]*node{}, now: now}
}

// Update implements push.Registry.
func (r *Registry) Update(ctx context.Context, u push.Update) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.nodes[u.Node]
	if n == nil || u.Whole {
		n = &node{members: map[string]push.Member{}}
		r.nodes[u.Node] = n
	}
	n.until = r.now().Add(u.TTL)
	for _, m := range u.Joined {
		n.members[m.ID] = m
	}
	for _, m := range u.Left {
		delete(n.members, m.ID)
	}
	if len(n.members) == 0 {
		delete(r.nodes, u.Node)
	}
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
	now := r.now()
	for name, n := range r.nodes {
		if !now.Before(n.until) {
			delete(r.nodes, name)
			continue
		}
		for _, m := range n.members {
			if slices.Contains(m.Filters, filter) {
				found = append(found, m)
			}
		}
	}
	slices.SortFunc(found, func(a, b push.Member) int { return strings.Compare(a.ID, b.ID) })
	return found
}
