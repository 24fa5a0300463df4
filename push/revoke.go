package push

import (
	"math"
	"strings"
	"time"
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
