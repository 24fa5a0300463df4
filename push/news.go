package push

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// A telling is an event of presence, and who gets it.
type telling struct {
	m    *message
	subs map[*subscriber]struct{}
}

// round tells the watchers what has changed since the last one, if that was long enough ago.
func (p *presence) round() {
	if !p.on {
		return
	}
	p.telling.Lock()
	defer p.telling.Unlock()
	p.mu.Lock()
	now := p.hub.now()
	if now < p.next || len(p.changed) == 0 {
		p.mu.Unlock()
		return
	}
	p.next = now + int64(presenceEvery)
	p.rounds++
	rounds := p.rounds
	var all []telling
	for c := range p.changed {
		if c.known {
			all = p.settle(all, c, now)
		}
	}
	p.mu.Unlock()
	p.tell(all, rounds)
}

// settle appends what has changed in a gathering. Who has left stays for Options.PresenceGrace.
func (p *presence) settle(all []telling, c *gathering, now int64) []telling {
	var joined, left []string
	for user := range c.news {
		g := c.users[user]
		switch {
		case g.n > 0:
			if !g.shown {
				g.shown = true
				joined = append(joined, user)
			}
		case g.shown && now-g.left < int64(p.hub.o.PresenceGrace):
			continue
		default:
			if g.shown {
				left = append(left, user)
			}
			delete(c.users, user)
		}
		delete(c.news, user)
	}
	if len(c.news) == 0 {
		delete(p.changed, c)
	}
	if len(joined)+len(left) > 0 {
		c.stale()
		if subs := p.audience(c); len(subs) > 0 {
			for _, of := range []struct {
				typ   string
				users []string
				d     int
			}{{format.TypeJoin, joined, len(joined)}, {format.TypeLeave, left, -len(left)}} {
				if c.shown += of.d; len(of.users) > 0 {
					all = append(all, telling{p.hub.told(c, of.typ, of.users, len(of.users)), subs})
				}
			}
		} else {
			c.shown += len(joined) - len(left)
		}
	}
	p.tidy(c)
	return all
}

// audience returns who watches a gathering.
func (p *presence) audience(c *gathering) map[*subscriber]struct{} {
	subs := map[*subscriber]struct{}{}
	if topic.IsPattern(c.filter) {
		if a := p.watchers.Get(c.filter); a != nil {
			maps.Copy(subs, a.subs)
		}
		return subs
	}
	for _, a := range p.watchers.Match(nil, c.filter) {
		maps.Copy(subs, a.subs)
	}
	return subs
}

// told makes an event of presence, which has no place in the order, and no ID. It names some of the
// users.
func (h *Hub) told(c *gathering, typ string, users []string, total int) *message {
	slices.Sort(users)
	var data struct {
		Users []string `json:"users"`
		More  int      `json:"more,omitempty"`
		Here  int      `json:"here"`
	}
	data.Users, data.Here = []string{}, c.shown
	size := 0
	for _, u := range users {
		if size += len(u); len(data.Users) == namedUsers || size > namedBytes {
			break
		}
		data.Users = append(data.Users, u)
	}
	data.More = total - len(data.Users)
	text, _ := json.Marshal(&data) // text always can be
	m := h.newMessage(&Event{Topic: c.filter, Type: typ, Data: text})
	m.seq = unplaced
	return m
}

// here returns an event that says who is in a gathering, with a reference for the caller.
func (p *presence) here(c *gathering) *message {
	if c.told == nil {
		var users []string
		for user, g := range c.users {
			if g.shown {
				if users = append(users, user); len(users) > namedUsers {
					break
				}
			}
		}
		c.told = p.hub.told(c, format.TypeHere, users, c.shown)
	}
	c.told.hold()
	return c.told
}

// tell gives events to those who get them, and gives the events up. It takes the locks of shards.
func (p *presence) tell(all []telling, rounds uint64) {
	for _, t := range all {
		for s := range t.subs {
			s.shard.mu.Lock()
			s.note(t.m, rounds)
			s.shard.mu.Unlock()
		}
		t.m.release()
	}
}

// watch is what a subscriber that asks for presence has yet to be told.
type watch struct {
	filters []string
	news    []*message
	fresh   bool   // it has to be told who is there
	rounds  uint64 // it knows what was told until then
}

// note keeps an event of presence for the next turn of a subscriber. One that is behind keeps none, and
// is told who is there when it has caught up. The shard's lock is held.
func (s *subscriber) note(m *message, rounds uint64) {
	if s.at < 0 || s.bye != 0 {
		return
	}
	w := s.rare.watch
	switch {
	case w.fresh || rounds <= w.rounds: // what it is told then is later than this
	case s.level > 0 || len(w.news) >= mostNews:
		w.drop()
		w.fresh = true
	default:
		m.hold()
		w.news = append(w.news, m)
	}
	s.sink.wake()
}

// drop forgets what waits.
func (w *watch) drop() {
	for _, m := range w.news {
		m.release()
	}
	w.news = nil
}

// dropNews forgets what waits for a subscriber that leaves.
func (s *subscriber) dropNews() {
	if s.rare != nil && s.rare.watch != nil {
		s.rare.watch.drop()
	}
}

// inform adds the news of presence to a turn, and reports whether there are more. The shard's lock is
// held.
func (s *subscriber) inform(t *turn) (more bool) {
	if s.rare == nil || s.rare.watch == nil || s.bye != 0 {
		return false
	}
	w := s.rare.watch
	if w.fresh {
		w.drop()
		w.fresh = false
		w.news, w.rounds = s.shard.hub.presence.present(w)
	}
	room := turnBytes
	for len(w.news) > 0 && room > 0 {
		f := w.news[0].frame(s.encoding)
		t.frames = append(t.frames, f) // with the reference of the news
		room -= len(f.bytes())
		w.news = w.news[1:]
	}
	return len(w.news) > 0
}

// present returns who is where, of what a watcher asks for, and up to which round that is.
func (p *presence) present(w *watch) (news []*message, rounds uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[*gathering]bool{}
	add := func(c *gathering) {
		if c != nil && c.known && !seen[c] && len(news) < mostGatherings {
			seen[c] = true
			news = append(news, p.here(c))
		}
	}
	for _, f := range w.filters {
		if add(p.gatherings[f]); topic.IsPattern(f) {
			found, _ := p.names.Some(nil, f, gatheringNodes)
			for _, c := range found {
				add(c)
			}
		}
	}
	return news, p.rounds
}
