package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An Ending says which subscribers are ended, and for how long they may not come back. Exactly one of
// User, Token and Connection is set.
type Ending struct {
	// User ends all subscribers of a user, see Handler.User. At most 1 KiB, as Token.
	User string
	// Token ends all subscribers with these credentials, see Handler.Token.
	Token string
	// Connection ends one subscriber: it is the ID of a Member or a Connection.
	Connection string
	// Reason is what clients are told in hub:bye. At most 255 bytes of UTF-8 without control characters.
	// Default: "ended", or "revoked" if Until is set.
	Reason string
	// Until withdraws the right to listen: before this time a request of the user, or with the token, is
	// answered with 401. For a token it is best the time at which it expires. A time that has passed takes
	// an earlier withdrawal back, and ends nobody. Zero: they may come again at once. Not for a Connection.
	Until time.Time
}

// Errors of [Hub.End].
var (
	// ErrBadEnding: the fields of an Ending do not fit together.
	ErrBadEnding = errors.New("push: bad ending")
	// ErrTooManyRevoked: the subscribers were ended, but may come again, because 100,000 users and tokens
	// are kept from it already: use tokens that expire sooner.
	ErrTooManyRevoked = errors.New("push: too many users and tokens are revoked: use an earlier Ending.Until")
)

func (e *Ending) check() error {
	bad := func(text string) error { return fmt.Errorf("%w: %s", ErrBadEnding, text) }
	set := 0
	for _, name := range [...]string{e.User, e.Token, e.Connection} {
		if name != "" {
			set++
		}
	}
	switch {
	case set != 1:
		return bad("set one of User, Token and Connection")
	case len(e.User)+len(e.Token) > 1<<10:
		return bad("the name has more than 1 KiB: use a shorter one")
	case e.Connection != "" && !e.Until.IsZero():
		return bad("a connection does not come again: set Until with User or Token")
	case len(e.Reason) > maxField || !utf8.ValidString(e.Reason) || strings.IndexFunc(e.Reason, control) >= 0:
		return bad("Reason has more than 255 bytes, a control character, or is not UTF-8: use another one")
	}
	return nil
}

// End ends subscribers: what waits for them is dropped, and their clients get hub:bye with the reason, a
// WebSocket a close. They may come again, and resume, if the authorize function lets them. n is how many
// were ended on this node.
//
// With a broker, the other nodes end theirs when the broker brings them the ending. Nodes that are started
// later learn from it who may not listen, if it is among the last Options.Fill events. Without a broker an
// Ending is for this node alone.
//
// Errors are [ErrBadEnding], after which nothing was done, and [ErrTooManyRevoked] and those of the broker,
// after which this node has ended its subscribers, and other nodes may have. What the broker
// did not take can be ended again.
//
// The cost is that of the subscribers that are ended; for a Connection all are looked at.
func (h *Hub) End(ctx context.Context, e Ending) (n int, err error) {
	if err := e.check(); err != nil {
		return 0, err
	}
	n, err = h.end(&e)
	if _, here := h.numberOf(e.Connection); h.broker == nil || here {
		return n, err
	}
	data, broken := json.Marshal(notice{h.o.Node, e})
	if broken != nil {
		return n, errors.Join(err, fmt.Errorf("push: end: %w", broken)) // Until is beyond the year 9999
	}
	if _, _, lost := h.broker.Publish(ctx, Event{Topic: noticeTopic, Type: typeEnd, Data: data, Time: time.Now()}); lost != nil {
		err = errors.Join(err, fmt.Errorf("push: end on other nodes: %w", lost))
	}
	return n, err
}

// end does on this node what an Ending says.
func (h *Hub) end(e *Ending) (n int, err error) {
	why, l := byeEnded, &h.limits
	l.mu.Lock()
	if !e.Until.IsZero() {
		why = byeRevoked
		left := time.Until(e.Until)
		before := l.revoked.bytes
		err = l.revoked.set(h.now(), e.User, e.Token, left)
		h.bytes.Add(l.revoked.bytes - before)
		if left <= 0 {
			l.mu.Unlock()
			return 0, err
		}
	}
	t := l.users[e.User]
	if e.Token != "" {
		t = l.tokens[e.Token]
	}
	var all []*subscriber
	if t != nil {
		all = slices.Clone(t.subs)
	}
	l.mu.Unlock()
	if e.Connection != "" {
		all = h.find(e.Connection)
	}
	for _, s := range all {
		if s.dismiss(why, e.Reason) {
			n++
		}
	}
	return n, err
}

// dismiss ends a subscriber at once, and reports whether it was there. It takes the lock.
func (s *subscriber) dismiss(why reason, text string) bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.at < 0 || s.bye >= byeStalled || s.state&finished != 0 {
		return false
	}
	if s.bye != byeClient { // which was to come after what it is owed
		s.shard.counts.ended[s.bye]--
		s.bye = byeClient
	}
	if text != "" {
		s.needs().why = text
	}
	s.end(why)
	s.sink.discard()
	return true
}

// find returns the subscriber with an ID, if it is here.
func (h *Hub) find(connection string) []*subscriber {
	number, here := h.numberOf(connection)
	if !here {
		return nil
	}
	for _, sh := range h.everyShard() {
		for _, s := range sh.everybody() {
			if s.number == number { // which does not change
				return []*subscriber{s}
			}
		}
	}
	return nil
}

// numberOf is the reverse of connection. It reports false for those of other nodes.
func (h *Hub) numberOf(connection string) (uint64, bool) {
	digits, ok := strings.CutPrefix(connection, h.o.Node+"-")
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 36, 64)
	return number, err == nil
}
