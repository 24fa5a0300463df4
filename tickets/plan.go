package tickets

import (
	"errors"
	"slices"
	"time"
)

// maxKeys is how many keys there are at most. Two or three are usual: the one in use, the one
// before it, and for a short time the next.
const maxKeys = 16

// A key is a secret, and since when, or from when on, tickets are encrypted with it.
type key struct {
	from   time.Time
	secret secret
}

// A schedule says when keys change.
type schedule struct {
	rotation time.Duration // for how long each key is used, and then kept
	ahead    time.Duration // how long a key is known before it is used
}

// current returns the index of the key that encrypts: the newest that is in use, or else
// the oldest.
func (r *ring) current(now time.Time) int {
	for i, k := range r.keys {
		if !k.from.After(now) {
			return i
		}
	}
	return len(r.keys) - 1
}

// plan returns the keys that there should be, newest first, and whether they differ. The
// argument is in the same order, and is not changed.
//
//	     ahead                          ahead
//	      ├──┤                           ├──┤
//	─ key 1 in use ──┼──── key 2 in use ────┼──── key 3 in use ────
//	                 │     key 1 kept       │     key 2 kept
func (s schedule) plan(keys []key, now time.Time) (planned []key, changed bool) {
	planned = s.prune(keys, now)
	if len(planned) == 0 {
		return []key{{now, newSecret()}}, true
	}
	newest := planned[0].from
	if end := newest.Add(s.rotation); !now.Before(end.Add(-s.ahead)) {
		from := now.Add(s.ahead)
		if from.Before(end) {
			from = end
		}
		return s.add(planned, from), true
	}
	return planned, len(planned) != len(keys)
}

// hurry is plan that begins to use another key as soon as all processes know it.
func (s schedule) hurry(keys []key, now time.Time) []key {
	planned, soon := s.prune(keys, now), now.Add(s.ahead)
	switch {
	case len(planned) == 0:
		return []key{{now, newSecret()}}
	case planned[0].from.After(soon) && (len(planned) == 1 || planned[1].from.Before(soon)):
		planned[0].from = soon // the next is known already
	case !planned[0].from.Before(soon):
		// One was added in this very moment.
	default:
		return s.add(planned, soon)
	}
	return planned
}

func (s schedule) add(keys []key, from time.Time) []key {
	keys = slices.Insert(keys, 0, key{from, newSecret()})
	return keys[:min(len(keys), maxKeys)]
}

// prune returns a copy without the keys whose time is over, and without those that a wrong
// clock has dated too far ahead.
func (s schedule) prune(keys []key, now time.Time) (left []key) {
	for i, k := range keys {
		over := k.from.Add(2 * s.rotation)
		if i > 0 {
			over = keys[i-1].from.Add(s.rotation)
		}
		if now.Before(over) && !k.from.After(now.Add(2*s.rotation)) {
			left = append(left, k)
		}
	}
	return left
}

// checkKeys refuses keys that nobody can have meant.
func checkKeys(keys []key) error {
	if len(keys) == 0 {
		return errors.New("there are no keys")
	}
	if len(keys) > maxKeys {
		return errors.New("there are more than 16 keys")
	}
	for i, k := range keys {
		if k.secret == (secret{}) {
			return errors.New("a key is zero: make keys at random")
		}
		for _, other := range keys[:i] {
			if other.secret == k.secret {
				return errors.New("two keys are the same")
			}
		}
	}
	return nil
}
