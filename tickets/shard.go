package tickets

import (
	"strings"
	"sync"
	"time"
)

// An entry is a session in two lists of its shard.
type entry struct {
	links  [lists]struct{ before, after *entry }
	state  []byte // never changed
	name   string // of the server
	until  time.Time
	handle handle
}

// cost is how many bytes an entry occupies.
func (e *entry) cost() int64 { return int64(cap(e.state) + len(e.name) + extra) }

// The lists of a shard. Both begin with what is removed first.
const (
	byAge = iota
	byUse
	lists
)

// A shard is a part of a cache with a lock of its own.
type shard struct {
	mu    sync.Mutex
	found map[handle]*entry
	ends  entry // its links close the rings of the lists
	bytes int64
	max   int64
	_     [64]byte // other shards are in other cache lines
}

func (s *shard) init(limit int64) {
	s.max = limit
	s.reset()
}

func (s *shard) reset() {
	s.found, s.bytes = make(map[handle]*entry), 0
	for l := range s.ends.links {
		s.ends.links[l].before, s.ends.links[l].after = &s.ends, &s.ends
	}
}

// push adds an entry to the end of a list.
func (s *shard) push(list int, e *entry) {
	last := s.ends.links[list].before
	e.links[list].before, e.links[list].after = last, &s.ends
	last.links[list].after, s.ends.links[list].before = e, e
}

func (*shard) unlink(list int, e *entry) {
	before, after := e.links[list].before, e.links[list].after
	before.links[list].after, after.links[list].before = after, before
}

func (s *shard) remove(e *entry) {
	for l := range lists {
		s.unlink(l, e)
	}
	delete(s.found, e.handle)
	s.bytes -= e.cost()
}

// oldest returns the first entry that has expired, or nil.
func (s *shard) oldest(now time.Time) *entry {
	if e := s.ends.links[byAge].after; e != &s.ends && !now.Before(e.until) {
		return e
	}
	return nil
}

// add makes room and adds an entry, unless it is too large or its handle is taken.
func (s *shard) add(e *entry, now time.Time) (stored bool, evicted int) {
	cost := e.cost()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.found[e.handle]; taken || cost > s.max {
		return false, 1
	}
	for old := s.oldest(now); old != nil && evicted < sweeps; old = s.oldest(now) {
		s.remove(old)
		evicted++
	}
	for s.bytes+cost > s.max { // ends: an empty shard has room
		s.remove(s.ends.links[byUse].after)
		evicted++
	}
	for l := range lists {
		s.push(l, e)
	}
	s.found[e.handle] = e
	s.bytes += cost
	return true, evicted
}

// get returns the state of a session, which the caller must not change.
func (s *shard) get(h handle, name string, now time.Time, once bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.found[h]
	if e == nil || !now.Before(e.until) || !strings.EqualFold(e.name, name) {
		return nil
	}
	if once {
		s.remove(e)
		return e.state
	}
	s.unlink(byUse, e)
	s.push(byUse, e)
	return e.state
}

// expire removes all entries that have expired, and counts what is left.
func (s *shard) expire(now time.Time) (left, evicted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.oldest(now); e != nil; e = s.oldest(now) {
		s.remove(e)
		evicted++
	}
	return len(s.found), evicted
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset()
}

func (s *shard) size() (sessions int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.found), s.bytes
}
