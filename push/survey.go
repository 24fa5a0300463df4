package push

import (
	"context"
	"strings"
)

// A Watcher is a Registry that tells what changes. With one, presence is that of all nodes, see
// Rule.Presence. Otherwise it is that of this node.
type Watcher interface {
	Registry
	// Watch calls f for each change on any node, one at a time, until ctx is done, and returns
	// why. f is called first with Missed: what was before has to be read.
	Watch(ctx context.Context, f func(Change)) error
}

// A Change says who has come and gone on a node.
type Change struct {
	Node   string   `json:"node,omitempty"`
	Joined []Member `json:"joined,omitempty"`
	Left   []Member `json:"left,omitempty"`
	// Lost: the node is gone, with all its members.
	Lost bool `json:"lost,omitempty"`
	// Missed: changes may not have been told, because the registry was out of reach. Read Counts or
	// Members anew.
	Missed bool `json:"-"`
}

// surveyMembers is how many members of one topic are asked for.
const surveyMembers = 10_000

// startPresence has the hub follow the changes of other nodes.
func (h *Hub) startPresence() {
	w, ok := h.o.Registry.(Watcher)
	if !ok || !h.presence.on {
		return
	}
	p, c := &h.presence, &h.cluster
	p.shared = true
	c.work.Go(func() {
		for c.ctx.Err() == nil {
			if err := w.Watch(c.ctx, p.take); c.ctx.Err() == nil {
				h.o.Logger.Warn("push: the registry cannot be watched, and is tried again", "error", err)
			}
			sleep(c.ctx, pause)
		}
	})
	c.work.Go(func() {
		for c.ctx.Err() == nil {
			select {
			case <-p.ask:
			case <-c.ctx.Done():
				return
			}
			if err := p.survey(c.ctx, w); err != nil && c.ctx.Err() == nil {
				h.o.Logger.Warn("push: the registry does not say who is present, and is asked again", "error", err)
				sleep(c.ctx, pause)
				p.wake()
			}
		}
	})
}

// take notes what has changed on another node.
func (p *presence) take(c Change) {
	if c.Missed {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.gatherings {
			p.inquire(c)
		}
		return
	}
	if c.Node == p.hub.o.Node {
		return
	}
	for i := range c.Joined {
		p.join(&c.Joined[i], c.Node)
	}
	for i := range c.Left {
		p.leave(&c.Left[i])
	}
	if c.Lost {
		p.lose(c.Node)
	}
	p.live()
}

// live has the hub tick, so that the next round comes.
func (p *presence) live() {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	p.hub.live()
}

// lose notes that a node has gone, with all its members.
func (p *presence) lose(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.gatherings {
		for id, a := range c.members {
			if a.node == node {
				p.exit(c, id)
			}
		}
	}
}

// inquire has the registry be asked for a gathering. The lock is held.
func (p *presence) inquire(c *gathering) {
	p.unknown[c], c.touched = struct{}{}, map[string]struct{}{}
	p.wake()
}

func (p *presence) wake() {
	select {
	case p.ask <- struct{}{}:
	default:
	}
}

// survey asks the registry for the gatherings whose members on other nodes are not known.
func (p *presence) survey(ctx context.Context, r Registry) error {
	for {
		p.mu.Lock()
		var c *gathering
		for c = range p.unknown {
			break
		}
		p.mu.Unlock()
		if c == nil {
			return nil
		}
		all, err := r.Members(ctx, c.filter, surveyMembers)
		if err != nil {
			return err
		}
		p.merge(c, all)
	}
}

// merge notes the members that the registry has of a gathering. Where a change has come meanwhile, that
// counts. They are no news if the gathering was not known: its watchers are told who is there.
func (p *presence) merge(c *gathering, all []Member) {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.mu.Lock()
	if _, asked := p.unknown[c]; !asked {
		p.mu.Unlock()
		return // nobody is there any more
	}
	touched := c.touched
	delete(p.unknown, c)
	c.touched = nil
	got := map[string]bool{}
	for i := range all {
		m := &all[i]
		got[m.ID] = true
		node := m.ID[:max(strings.LastIndexByte(m.ID, '-'), 0)]
		if _, changed := touched[m.ID]; m.User != "" && node != p.hub.o.Node && !changed {
			p.enter(c, m, node)
		}
	}
	for id, a := range c.members {
		if _, changed := touched[id]; a.node != p.hub.o.Node && !got[id] && !changed && len(all) < surveyMembers {
			p.exit(c, id)
		}
	}
	var t telling
	if !c.known {
		t = p.meet(c)
	}
	p.tidy(c)
	p.mu.Unlock()
	p.tell(&t)
	p.live()
}

// meet makes a gathering known, and returns what its watchers are told.
func (p *presence) meet(c *gathering) telling {
	c.known = true
	for user, g := range c.users {
		if g.n > 0 && !g.shown {
			g.shown = true
			c.shown++
		}
		if g.n > 0 {
			delete(c.news, user)
		}
	}
	p.stale(c)
	t := p.audience(c)
	t.events = append(t.events, p.here(c))
	return t
}
