package push

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// client is a subscriber with what it knows.
type client struct {
	m      *model
	sub    *subscriber
	native *looped // nil: it is served like one of net/http
	room   int     // bytes that it accepts before it reads
	sent   []byte  // what it has not read

	filters []string
	lastID  string
	at      uint64 // everything up to here is accounted for
	excused uint64 // events up to here may be missing: a gap has said so
	slow    int    // events that gaps have said to be dropped since
	next    string // the event that the last gap has said to follow
	ended   bool
}

func (c *client) wake()  {}
func (c *client) abort() {}

func (c *client) unsent(func(*frame)) {}
func (c *client) discard()            {}

// write implements output.
func (c *client) write(f *frame) bool {
	if len(c.sent) > 0 && len(c.sent)+len(f.bytes()) > c.room {
		return false
	}
	c.sent = append(c.sent, f.bytes()...)
	return true
}

func (c *client) pending() int { return len(c.sent) }

func (c *client) end() { c.ended = true }

// read has a client read whole lines among the first n bytes.
func (c *client) read(n int) {
	text := string(c.sent[:n])
	text = text[:strings.LastIndex(text, "\n")+1]
	c.sent = c.sent[len(text):]
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		for i := range f {
			f[i] = strings.TrimPrefix(f[i], "=")
		}
		switch f[0] {
		case "S":
			if f[1] != "" {
				c.lastID = f[1]
				c.at = c.seq(f[1])
			}
		case "E":
			c.event(f[1], f[2])
		case "G":
			dropped, _ := strconv.Atoi(f[4])
			c.gap(format.Gap{ID: f[1], From: f[2], To: f[3], Dropped: dropped, Reason: f[5]})
		case "Y":
			if f[1] == "shutdown" {
				at := c.at
				c.account(c.m.hub.seq) // it was given all that it is owed
				c.at = at              // but for what was dropped, which another node may have
			}
		}
		if c.m.t.Failed() {
			c.m.t.Fatalf("client %v reads %q", c.filters, text)
		}
	}
	if c.ended && len(c.sent) == 0 && c.sub != nil {
		c.m.leave(c)
	}
}

// seq returns the place of an ID.
func (c *client) seq(id string) uint64 {
	if seq, ok := c.m.hub.position(id); ok {
		return seq
	}
	for _, e := range c.m.events {
		if e.id == id {
			return e.seq
		}
	}
	c.m.t.Errorf("nothing has the ID %q", id)
	return 0
}

func (c *client) event(id, name string) {
	seq := c.seq(id)
	switch {
	case seq <= c.at:
		c.m.t.Errorf("%s comes after %s", id, c.lastID)
	case c.next != "" && c.next != id:
		c.m.t.Errorf("%s comes after a gap to %s", id, c.next)
	case !c.wants(name):
		c.m.t.Errorf("%s is of the topic %s", id, name)
	}
	c.account(seq - 1)
	c.at, c.lastID = seq, id
}

func (c *client) wants(name string) bool {
	return slices.ContainsFunc(c.filters, func(f string) bool { return topic.Match(f, name) })
}

// account wants a reason for every event up to seq that did not come.
func (c *client) account(seq uint64) {
	var must, may int // have been dropped
	for _, e := range c.m.events {
		switch {
		case e.seq <= c.at || e.seq > seq || !c.wants(e.topic):
		case e.seq <= c.excused, c.m.replaced(e):
			may++
		default:
			must++
		}
	}
	if c.slow < must || c.slow > must+may {
		c.m.t.Errorf("%d to %d events are missing between %s and %d, said to be dropped: %d", must, must+may, c.lastID, seq, c.slow)
	}
	c.slow, c.next, c.at = 0, "", max(c.at, seq)
}

// replaced reports whether an event may have been replaced by a later one.
func (m *model) replaced(old published) bool {
	return old.key != "" && strings.HasPrefix(old.topic, "key/") && slices.ContainsFunc(m.events, func(e published) bool {
		return e.seq > old.seq && e.topic == old.topic && e.key == old.key
	})
}

func (c *client) gap(g format.Gap) {
	if g.From != c.lastID {
		c.m.t.Errorf("%+v comes after %s", g, c.lastID)
	}
	if g.Reason == "epoch" || g.Reason == "unknown-id" {
		if c.at = 0; !c.m.forgets && slices.ContainsFunc(c.m.events, func(e published) bool { return e.id == g.From }) {
			c.m.t.Errorf("%+v, and the hub has published it", g)
		}
	}
	// A position may be that of the event that follows, or of one that was dropped before it.
	to, position := c.m.hub.position(g.To)
	if !position {
		to = c.seq(g.To) - 1
	}
	switch {
	case g.Reason != "slow":
		c.excused = max(c.excused, to)
		if g.Reason == "history" && !slices.ContainsFunc(c.m.events, func(e published) bool {
			return e.seq > c.at && e.seq <= c.excused && c.wants(e.topic)
		}) {
			c.m.t.Errorf("%+v, and nothing is missing", g)
		}
	default:
		c.slow += g.Dropped
		if !position {
			c.next = g.To
		}
	}
	if g.ID != "" {
		c.lastID = g.ID
	}
}

// hurry has a part of what waits for the loop be handed over before it comes to it.
func (m *model) hurry() {
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	for _, sh := range m.hub.shards {
		sh.mu.Lock()
		sh.hurry(m.r.IntN(20))
		sh.mu.Unlock()
	}
}

// plainText is a format that the clients of the model read.
type plainText struct{}

func (plainText) Name() string      { return "text" }
func (plainText) MediaType() string { return "text/plain" }

func (plainText) AppendStart(b []byte, _ time.Duration, position string) []byte {
	return fmt.Appendf(b, "S =%s\n", position)
}

func (plainText) AppendEvent(b []byte, e *format.Event) []byte {
	return fmt.Appendf(b, "E =%s %s\n", e.ID, e.Topic)
}

func (plainText) AppendGap(b []byte, g *format.Gap) []byte {
	return fmt.Appendf(b, "G =%s =%s =%s %d %s\n", g.ID, g.From, g.To, g.Dropped, g.Reason)
}

func (plainText) AppendBye(b []byte, y *format.Bye) []byte { return fmt.Appendf(b, "Y %s\n", y.Reason) }
func (plainText) AppendBeat(b []byte) []byte               { return append(b, "B\n"...) }
