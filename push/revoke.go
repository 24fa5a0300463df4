package push

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/redline-go/redline/push/format"
)

// revocations are the users and tokens that may not listen, each with the time on the hub's clock until
// when. The lock of limits guards them.
type revocations struct {
	users, tokens map[string]int64
	bytes         int64 // what they count for in Options.MaxBytes
	sweep         int   // at how many those are removed whose time has passed
	due           int64 // there is none before
}

const (
	maxRevoked   = 100_000
	minSweep     = 64
	revokedBytes = 128 // what one counts for besides its name
)

func (v *revocations) init() {
	v.users, v.tokens, v.sweep, v.due = map[string]int64{}, map[string]int64{}, minSweep, math.MaxInt64
}

func (v *revocations) len() int { return len(v.users) + len(v.tokens) }

// set keeps a user or a token from listening for some time, or takes that back.
func (v *revocations) set(now int64, user, token string, left time.Duration) error {
	of, name := v.users, user
	if token != "" {
		of, name = v.tokens, token
	}
	_, known := of[name]
	if left <= 0 {
		v.remove(of, name)
		return nil
	}
	if !known && v.len() >= min(v.sweep, maxRevoked) {
		if v.due <= now {
			v.expire(now)
		}
		if v.len() >= maxRevoked {
			return ErrTooManyRevoked
		}
	}
	if !known {
		v.bytes += int64(revokedBytes + len(name))
	}
	until := now + min(int64(left), math.MaxInt64-now)
	v.due = min(v.due, until)
	of[strings.Clone(name)] = until
	return nil
}

func (v *revocations) remove(of map[string]int64, name string) {
	if _, known := of[name]; known {
		delete(of, name)
		v.bytes -= int64(revokedBytes + len(name))
	}
}

// expire removes those whose time has passed. It is done again when there are twice as many as remain.
func (v *revocations) expire(now int64) {
	v.due = math.MaxInt64
	for _, of := range [...]map[string]int64{v.users, v.tokens} {
		for name, until := range of {
			if until <= now {
				v.remove(of, name)
			} else {
				v.due = min(v.due, until)
			}
		}
	}
	v.sweep = max(2*v.len(), minSweep)
}

// has reports whether a client may not listen.
func (v *revocations) has(now int64, user, token string) bool {
	return v.users[user] > now || v.tokens[token] > now
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

// exit is the reverse of enter. It does nothing for one that was admitted and has not joined. The lock is
// held.
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

// A notice is what the hubs of a cluster tell each other: an event of the broker that no publisher can
// publish, because its type is reserved, and no subscriber gets.
type notice struct {
	Node string
	Ending
}

const (
	noticeTopic = "hub/notices"
	typeEnd     = format.ReservedPrefix + "end"
)

// IsNotice reports whether an event is what one hub of a cluster tells the others, see [Hub.End]: the only one
// with a reserved type that a [Broker] carries. Its topic is "hub/notices", so that a broker with
// rights for each topic can keep others from publishing it.
func IsNotice(e *Event) bool { return e.Topic == noticeTopic && e.Type == typeEnd }

// reserved reports whether an event is for hubs alone.
func reserved(e *Event) bool { return strings.HasPrefix(e.Type, format.ReservedPrefix) }

// notice takes its place in the order from an event that is for hubs alone, and does what it says.
func (h *Hub) notice(r Record) {
	h.mu.Lock()
	if r.Seq <= h.seq || h.closed {
		h.mu.Unlock()
		return
	}
	h.seq = r.Seq
	if !h.cluster.known {
		h.filling()
	}
	h.overtake()
	h.mu.Unlock()
	var n notice
	if !IsNotice(&r.Event) || json.Unmarshal(r.Event.Data, &n) != nil || n.Node == h.o.Node || n.check() != nil {
		return // of a newer version, or this node's own
	}
	if _, err := h.end(&n.Ending); err != nil {
		h.o.Logger.Warn("push: an ending of another node was not kept", "error", err)
	}
}
