package push

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// A telling is what the watchers of a topic are told at a time.
type telling struct {
	events []*message
	subs   []*subscriber
	number uint64 // see presence.tellings
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
	changed := slices.Collect(maps.Keys(p.changed))
	p.mu.Unlock()
	for n := 0; len(changed) > 0 && n < roundTells; changed = changed[1:] {
		p.mu.Lock()
		t := p.settle(changed[0], now)
		p.mu.Unlock()
		p.tell(&t)
		n += len(t.events)*len(t.subs) + 1
	}
}

// settle returns what has changed in a gathering. Who has left stays for Options.PresenceGrace.
func (p *presence) settle(c *gathering, now int64) (t telling) {
	if _, changed := p.changed[c]; !changed || !c.known {
		return t
	}
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
			p.count(-guestBytes - len(user))
		}
		delete(c.news, user)
	}
	if len(c.news) == 0 {
		delete(p.changed, c)
	}
	if len(joined)+len(left) > 0 {
		p.stale(c)
		t = p.audience(c)
		if c.shown += len(joined); len(joined) > 0 && len(t.subs) > 0 {
			t.events = append(t.events, p.hub.presenceEvent(c, format.TypeJoin, joined, len(joined)))
		}
		if c.shown -= len(left); len(left) > 0 && len(t.subs) > 0 {
			t.events = append(t.events, p.hub.presenceEvent(c, format.TypeLeave, left, len(left)))
		}
	}
	p.tidy(c)
	return t
}

// audience returns a telling for those who watch a gathering, each once.
func (p *presence) audience(c *gathering) (t telling) {
	var all []*audience
	if !topic.IsPattern(c.filter) {
		all = p.watchers.Match(nil, c.filter)
	} else if a := p.watchers.Get(c.filter); a != nil {
		all = append(all, a)
	}
	p.tellings++
	t.number = p.tellings
	for _, a := range all {
		for s := range a.subs {
			if w := s.rare.watch; w.found != t.number { // or it has several filters for it
				w.found = t.number
				t.subs = append(t.subs, s)
			}
		}
	}
	return t
}

// presenceEvent makes an event of presence, which has no place in the order, and no ID. It names some of the
// users.
func (h *Hub) presenceEvent(c *gathering, typ string, users []string, total int) *message {
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
	text, _ := json.Marshal(&data) // of strings and numbers: there is no error
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
		c.told = p.hub.presenceEvent(c, format.TypeHere, users, c.shown)
		p.bytes.Add(toldBytes(c.told))
	}
	c.told.hold()
	return c.told
}

// toldBytes is about what a message of a gathering weighs: the hub counts it as any other.
func toldBytes(m *message) int64 { return int64(overhead + 2*len(m.event.Data)) }

// tell gives events to those who get them, and gives the events up. It takes the locks of shards.
func (p *presence) tell(t *telling) {
	for _, m := range t.events {
		for _, s := range t.subs {
			s.shard.mu.Lock()
			s.note(m, t.number)
			s.shard.mu.Unlock()
		}
		m.release()
	}
}

// watch is what a subscriber that asks for presence has yet to be told.
type watch struct {
	filters []string
	found   uint64 // the last telling that it is in the audience of; the lock of presence guards it
	news    []*message
	fresh   bool   // it has to be told who is there
	known   uint64 // it knows what was told up to this number
}

// note keeps an event of presence for the next turn of a subscriber. One that is behind keeps none, and
// is told who is there when it has caught up. The shard's lock is held.
func (s *subscriber) note(m *message, number uint64) {
	if s.at < 0 || s.bye != 0 {
		return
	}
	w := s.rare.watch
	switch {
	case w.fresh || number <= w.known: // what it is told then is later than this
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
		w.news, w.known = s.shard.hub.presence.present(w)
	}
	room := turnBytes
	for len(w.news) > 0 && room > 0 {
		room -= t.add(w.news[0], s.encoding) // with the reference of the news
		w.news = w.news[1:]
	}
	return len(w.news) > 0
}

// present returns who is where, of what a watcher asks for, and up to which telling that is.
func (p *presence) present(w *watch) (news []*message, known uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[*gathering]bool{}
	patterns := 0
	for _, f := range w.filters {
		if topic.IsPattern(f) {
			patterns++
		}
	}
	add := func(c *gathering) {
		if c != nil && c.known && !seen[c] && len(news) < mostGatherings {
			seen[c] = true
			news = append(news, p.here(c))
		}
	}
	for _, f := range w.filters {
		if add(p.gatherings[f]); topic.IsPattern(f) && len(news) < mostGatherings {
			found, _ := p.names.Some(nil, f, gatheringNodes/patterns)
			for _, c := range found {
				add(c)
			}
		}
	}
	return news, p.tellings
}
