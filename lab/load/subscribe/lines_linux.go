package subscribe

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/tlsc"
	"github.com/redline-go/redline/lab/load/wire"
)

// lines are the connections of subscribers that speak TLS or HTTP/2. They lie between
// sockets and the book, and are not there for HTTP/1.1 in clear:
//
//	book ──▶ request ──▶ line ──▶ wire ──▶ socket
//	book ◀── answer ◀─── line ◀── wire ◀── socket
//
// Subscribers come in groups that share a line, one each with HTTP/1.1. A line that
// its server is leaving (GOAWAY) keeps those who stand on it, and the others of the
// group get another one.
type lines struct {
	loop     *Loop
	book     *book
	common   wire.Common
	requests requests // of HTTP/2
	share    int32    // subscribers of a group

	all    []*line
	free   []int32 // of all: those without a socket
	at     []int32 // by group: the line that takes its subscribers; -1: none
	places []place // by subscriber
	dirty  []*line // with something to be sent
	riders []int32 // of the line that is being closed

	now, wall int64 // of the present read
}

// place is where a subscriber is.
type place struct {
	line  int32 // -1: none
	slot  int32 // its stream; -1: it waits to ask
	asked int64 // when it did
}

var nowhere = place{line: -1, slot: -1}

// newLines makes them, none connected.
func newLines(l *Loop, o *Options) (*lines, error) {
	n := &lines{
		loop: l, book: l.book, share: int32(o.share()),
		at: make([]int32, o.connections()), places: make([]place, o.Subscribers),
	}
	n.common = wire.Common{TLS: o.TLS, BytesOut: &l.book.BytesOut, MaxOwed: tlsc.MaxOwed, KeepFrames: keptFrames}
	for g := range n.at {
		n.at[g] = -1
	}
	for i := range n.places {
		n.places[i] = nowhere
	}
	l.book.fresh, l.book.hangUp = n.fresh, n.hangUp
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

// fresh reports whether a subscriber takes a new connection.
func (l *lines) fresh(i int32) bool { return l.at[i/l.share] < 0 }

// join lets a subscriber ask: on the line of its group, or a new one.
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
	fd, refused, err := l.loop.connect(int(g), c.id, c.gen)
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

// hangUp takes a subscriber off its line.
func (l *lines) hangUp(i int32) {
	s := l.places[i]
	if s.line < 0 {
		return
	}
	l.places[i] = nowhere
	c := l.all[s.line]
	switch {
	case c.phase != up: // it takes too long, for all who wait for it
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
	default: // it waited for too long
		if c.heard <= max(s.asked, l.book.subs[i].heard) {
			l.detach(c) // nothing came at all since: who asks next had better ask elsewhere
		}
		c.HTTP2.Cancel(int(s.slot))
		l.touch(c)
	}
}

// touch puts a line up for tending.
func (l *lines) touch(c *line) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// tendAll does what there is to do on lines that were touched, all of a line at once.
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

// detach lets nobody else come to a line.
func (l *lines) detach(c *line) {
	c.left = true
	if l.at[c.group] == c.id {
		l.at[c.group] = -1
	}
}

// on are the subscribers of a line; valid until the next call.
func (l *lines) on(c *line) []int32 {
	l.riders = l.riders[:0]
	for i := c.group * l.share; i < min((c.group+1)*l.share, int32(len(l.places))); i++ {
		if l.places[i].line == c.id {
			l.riders = append(l.riders, i)
		}
	}
	return l.riders
}

// fail ends a line, and all that subscribers have on it. One whose answer is cut off
// was not merely closed. Of a line with nobody on it what was broken counts once; that
// it ended is no error then.
func (l *lines) fail(c *line, k Kind, why string, now int64) {
	riders := slices.Clone(l.on(c))
	l.close(c)
	if len(riders) == 0 && k != Closed && k != Reset && k != Timeout {
		l.book.count(k, why)
	}
	for _, i := range riders {
		kind := k
		if k == Closed && l.book.subs[i].phase == standing {
			kind = Short
		}
		l.book.fails(i, kind, why, now)
	}
}

// close ends a line. Whoever is on it is not told.
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
