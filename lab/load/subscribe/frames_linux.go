package subscribe

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/spec"
)

// goaway describes a GOAWAY with an error code.
const goaway = "the server ended the connection with GOAWAY and the error %v"

// requests are the requests of subscribers over HTTP/2: first without Last-Event-ID,
// again with it.
type requests struct {
	first, again *h2.Request
	id           int // index of Last-Event-ID in the fields of again
}

// newRequests builds the requests.
func newRequests(o *Options) (r requests, err error) {
	scheme := "http"
	if o.TLS != nil {
		scheme = "https"
	}
	fields, content, err := h2.FromWire(bytes.ReplaceAll(o.Request, []byte(spec.TopicMark), []byte("0")), scheme) // there is one topic
	if err != nil {
		return r, err
	}
	if r.first, err = h2.NewRequest(0, fields, content, int64(len(content))); err != nil {
		return r, err
	}
	r.id = len(fields)
	fields = append(fields, h2.Field{Name: "last-event-id", Vary: true})
	r.again, err = h2.NewRequest(1, fields, content, int64(len(content)))
	return r, err
}

// of returns the request of a subscriber with this last id; valid until the next call.
func (r *requests) of(lastID []byte) *h2.Request {
	if len(lastID) == 0 {
		return r.first
	}
	r.again.Set(r.id, lastID)
	return r.again
}

// consume handles bytes of HTTP/2 frames.
func (c *line) consume(in []byte) {
	l := c.lines
	c.feeding = true
	err := c.HTTP2.Feed(in)
	c.feeding = false
	if c.phase != up && err == nil && c.HTTP2.Settled() {
		c.phase = up
		l.measure(c.HTTP2)
	}
	if _, code := c.HTTP2.Leaving(); code != h2.CodeNone && !c.goawayCounted {
		c.goawayCounted = true
		l.book.count(Goaway, fmt.Sprintf(goaway, code))
	}
	if e, is := errors.AsType[*h2.Error](err); is {
		c.flush() // sends the GOAWAY
		l.fail(c, ofHTTP2(e.Kind), e.Error(), l.now)
		return
	}
	if c.phase == up {
		c.tend()
	}
}

// measure checks on the first line that the server accepts Options.Share streams on a
// connection; with fewer, some subscribers would never connect.
func (l *lines) measure(c *h2.Conn) {
	leaving, _ := c.Leaving()
	if room := c.Room(); room < int(l.share) && l.book.stood == 0 && !leaving {
		l.loop.broken = fmt.Errorf("the server accepts %d streams on a connection, fewer than the %d subscribers that share one: write --streams %d, and more --connections",
			room, l.share, max(room, 1))
	}
}

// tend sends the requests of waiting subscribers and pending frames. It closes the
// connection after GOAWAY when no stream is left.
func (c *line) tend() {
	l := c.lines
	if c.HTTP2 == nil {
		return
	}
	for len(c.waits) > 0 && c.HTTP2.Room() > 0 {
		i := c.waits[0]
		c.waits = c.waits[1:]
		l.book.asks(i)
		slot := c.Request(l.requests.of(l.book.lastID(i)))
		for len(c.owner) <= slot {
			c.owner = append(c.owner, -1)
		}
		c.owner[slot] = i
		l.places[i] = place{line: c.id, slot: int32(slot), asked: l.loop.Now()}
	}
	if len(c.waits) == 0 {
		c.waits = nil
	}
	c.flush()
	leaving, code := c.HTTP2.Leaving()
	if !leaving && !c.draining {
		return
	}
	l.detach(c)
	for leaving && len(c.waits) > 0 {
		i := c.waits[0]
		c.waits = c.waits[1:]
		l.places[i] = nowhere
		e := h2.Error{Kind: h2.Refused, Code: code, Detail: "the server sent GOAWAY before it accepted the request"}
		l.book.fails(i, ofHTTP2(e.Kind), e.Error(), l.loop.Now())
	}
	if c.HTTP2.Active() == 0 && len(c.waits) == 0 {
		l.close(c)
	}
}

// forget removes a subscriber from those that wait.
func (c *line) forget(i int32) {
	if at := slices.Index(c.waits, i); at >= 0 {
		c.waits = slices.Delete(c.waits, at, at+1)
	}
	c.lines.touch(c)
}

// Head implements h2.Handler.
func (c *line) Head(slot int, h *h2.Head) {
	c.lines.book.headed(c.owner[slot], h.Status, h.Text(), c.lines.now, c.lines.wall)
}

// Data implements h2.Handler.
func (c *line) Data(slot int, b []byte) {
	c.lines.book.content(c.owner[slot], b, c.lines.now, c.lines.wall)
}

// End implements h2.Handler.
func (c *line) End(slot int) {
	c.lines.book.ended(c.off(slot), c.lines.now)
}

// Fail implements h2.Handler.
func (c *line) Fail(slot int, err h2.Error) {
	c.lines.book.fails(c.off(slot), ofHTTP2(err.Kind), err.Error(), c.lines.now)
}

// off removes the subscriber of a stream that has ended, and returns it.
func (c *line) off(slot int) int32 {
	i := c.owner[slot]
	c.lines.places[i] = nowhere
	return i
}
