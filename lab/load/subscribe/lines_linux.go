package subscribe

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/load/wire"
)

// lines are the connections of subscribers over TLS or HTTP/2. They are between the
// sockets and the book, and are not used for HTTP/1.1 in clear:
//
//	book ──▶ request ──▶ line ──▶ wire ──▶ socket
//	book ◀── answer ◀─── line ◀── wire ◀── socket
//
// Subscribers form groups that share a line; with HTTP/1.1 a group is one subscriber.
// After GOAWAY a line keeps its streams, and the other subscribers of the group get a new
// line.
type lines struct {
	loop     *Loop
	book     *book
	common   wire.Common
	requests requests // of HTTP/2
	share    int32    // subscribers in a group

	all      []*line
	free     []int32 // ids of lines without a socket
	at       []int32 // by group: the line that takes its subscribers; -1: none
	places   []place // by subscriber
	dirty    []*line // to be tended
	affected []int32 // result of on

	now, wall int64 // of the current read
}

// place is the connection and stream of a subscriber.
type place struct {
	line  int32 // -1: none
	slot  int32 // its stream; -1: its request is not sent
	asked int64 // when the request was sent
}

var nowhere = place{line: -1, slot: -1}

// newLines returns lines without connections, and installs them in the book.
func newLines(l *Loop, o *Options) (*lines, error) {
	n := &lines{
		loop: l, book: l.book, share: int32(o.share()),
		at: make([]int32, o.connections()), places: make([]place, o.Subscribers),
	}
	n.common = wire.Common{TLS: o.TLS, BytesOut: &l.book.BytesOut, MaxOwed: tlsclient.MaxOwed, KeepFrames: keptFrames}
	for g := range n.at {
		n.at[g] = -1
	}
	for i := range n.places {
		n.places[i] = nowhere
	}
	l.book.fresh, l.book.hangUp, l.book.send = n.fresh, n.hangUp, n.sendNow
	if !o.HTTP2 {
		return n, nil
	}
	var err error
	if n.common.HTTP2, err = h2.NewClient(h2.Settings{Streams: int(n.share), Text: true}); err != nil {
		return nil, err
	}
	n.requests, err = newRequests(o)
	return n, err
}

// fresh reports whether a subscriber needs a new connection.
func (l *lines) fresh(i int32) bool { return l.at[i/l.share] < 0 }

// join assigns a subscriber to the line of its group, or to a new one.
func (l *lines) join(i int32, now int64) error {
	g := i / l.share
	if id := l.at[g]; id >= 0 {
		c := l.all[id]
		l.places[i] = place{line: id, slot: -1}
		c.waits = append(c.waits, i)
		l.touch(c)
		return nil
	}
	if len(l.free) == 0 {
		l.free = append(l.free, int32(len(l.all)))
		l.all = append(l.all, l.newLine())
	}
	c := l.all[l.free[len(l.free)-1]]
	fd, refused, err := l.loop.connect(l.loop.dialer, int(g), c.id, c.gen)
	if err != nil {
		return err
	}
	l.free = l.free[:len(l.free)-1]
	c.fd, c.group, c.phase, c.heard = fd, g, dialing, now
	c.waits = append(c.waits, i)
	l.at[g], l.places[i] = c.id, place{line: c.id, slot: -1}
	if refused {
		l.fail(c, Connect, "", now)
	}
	return nil
}

// hangUp removes a subscriber from its line and ends its stream.
func (l *lines) hangUp(i int32) {
	s := l.places[i]
	if s.line < 0 {
		return
	}
	l.places[i] = nowhere
	c := l.all[s.line]
	switch {
	case c.phase != up: // the handshake timed out for all subscribers of the line
		now, why := l.loop.Now(), ""
		if c.phase != dialing {
			_, err := c.Failed(unix.ETIMEDOUT)
			why = err.Error()
		}
		l.fail(c, Timeout, why, now)
		l.book.detail = why
	case c.HTTP2 == nil:
		l.close(c)
	case s.slot < 0:
		c.forget(i)
	case c.feeding:
		c.HTTP2.Cancel(int(s.slot))
	default: // the subscriber timed out
		if c.heard <= max(s.asked, l.book.subs[i].heard) {
			l.detach(c) // nothing has arrived since: later requests use another line
		}
		c.HTTP2.Cancel(int(s.slot))
		l.touch(c)
	}
}

// sendNow is Loop.sendNow for a line.
func (l *lines) sendNow(i int32, b []byte) bool { return l.all[l.places[i].line].Send(b) }

// touch schedules a call of tend for a line.
func (l *lines) touch(c *line) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// tendAll tends the touched lines, each once.
func (l *lines) tendAll() {
	for i := 0; i < len(l.dirty); i++ {
		c := l.dirty[i]
		c.dirty = false
		if c.phase == up {
			c.tend()
		}
	}
	l.dirty = l.dirty[:0]
}

// detach makes a line take no further subscribers.
func (l *lines) detach(c *line) {
	c.draining = true
	if l.at[c.group] == c.id {
		l.at[c.group] = -1
	}
}

// on returns the subscribers of a line; valid until the next call.
func (l *lines) on(c *line) []int32 {
	l.affected = l.affected[:0]
	for i := c.group * l.share; i < min((c.group+1)*l.share, int32(len(l.places))); i++ {
		if l.places[i].line == c.id {
			l.affected = append(l.affected, i)
		}
	}
	return l.affected
}

// fail closes a line and counts an error for each of its subscribers. Closed becomes Short
// for a standing subscriber. Without subscribers, a protocol error counts once, and the end
// of the connection is not an error.
func (l *lines) fail(c *line, k Kind, why string, now int64) {
	affected := slices.Clone(l.on(c))
	l.close(c)
	if len(affected) == 0 && k != Closed && k != Reset && k != Timeout {
		l.book.count(k, why)
	}
	for _, i := range affected {
		kind := k
		if k == Closed && l.book.subs[i].phase == standing {
			kind = Short
		}
		l.book.fails(i, kind, why, now)
	}
}

// close closes a line. It does not notify its subscribers.
func (l *lines) close(c *line) {
	l.detach(c)
	for _, i := range l.on(c) {
		l.places[i] = nowhere
	}
	c.Close(c.phase == up)
	// close(2) on a socket frees the descriptor whatever it returns.
	_ = unix.Close(c.fd)
	*c = line{Conn: c.Conn, lines: l, id: c.id, gen: c.gen + 1, fd: -1, dirty: c.dirty}
	l.free = append(l.free, c.id)
}

func (l *lines) closeAll() {
	for _, c := range l.all {
		if c.fd >= 0 {
			l.close(c)
		}
	}
}
