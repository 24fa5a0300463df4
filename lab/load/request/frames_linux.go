package request

import (
	"bytes"
	"strconv"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
)

// newHTTP2 prepares the state that the connections share, and the constant requests.
func (l *loop) newHTTP2() (err error) {
	set := h2.Settings{Streams: l.spec.Streams}
	if l.play == nil {
		fields, content, err := h2.FromWire(l.spec.Request, l.spec.Scheme())
		if err != nil {
			return err
		}
		if l.request, err = h2.NewRequest(0, fields, content, int64(len(content))); err != nil {
			return err
		}
	} else {
		for _, t := range l.play.plan.Targets() {
			set.Text = set.Text || t.NeedsHead()
		}
		if err := l.play.prepare(l.spec); err != nil {
			return err
		}
	}
	l.common.HTTP2, err = h2.NewClient(set)
	return err
}

// prepare writes the constant requests of a scenario.
func (p *play) prepare(order *spec.Spec) (err error) {
	p.requests = make([]*h2.Request, len(p.plan.Targets()))
	for i, t := range p.plan.Targets() {
		if t.Wire() == nil {
			continue
		}
		var v scenario.View
		p.user(order, 0).View(&v, t)
		if p.requests[i], err = newRequest(&v, t, false); err != nil {
			return err
		}
	}
	return nil
}

// newRequest returns a request of HTTP/2. One that varies is set to the values of
// another view before it is sent again.
func newRequest(v *scenario.View, t *scenario.Target, vary bool) (*h2.Request, error) {
	fields := h2.Pseudo(v.Method, v.Scheme, v.Authority, v.Path)
	fields[len(fields)-1].Vary = vary
	for _, f := range v.Fields {
		fields = append(fields, h2.Field{Name: f.Name, Value: trim(f.Value), Vary: vary})
	}
	size := int64(len(v.Body))
	if s := t.Stream(); s != nil {
		size = s.ContentSize()
	}
	if size > 0 || v.Method == "POST" || v.Method == "PUT" || v.Method == "PATCH" {
		fields = append(fields, h2.Field{Name: "content-length", Value: strconv.AppendInt(nil, size, 10), Vary: vary})
	}
	r, err := h2.NewRequest(t.Index(), fields, nil, 0)
	if err != nil {
		return nil, err
	}
	if s := t.Stream(); s != nil {
		r.SetContent(s, size)
	} else {
		r.SetBody(v.Body)
	}
	return r, nil
}

// trim removes the blanks around a field's value, which HTTP/2 forbids.
func trim(value []byte) []byte { return bytes.Trim(value, " \t") }

// letter holds the buffers with which a requester of a scenario writes its requests.
type letter struct {
	own    []*h2.Request // those that vary, by target
	fields []int         // how many fields the view of each had
	view   scenario.View
	length []byte // of the content, in digits
}

// compose prepares a requester's next request.
func (m *mux) compose(s *requester) error {
	l := m.loop
	if l.play == nil {
		s.request = l.request
		return nil
	}
	t := s.turn
	s.target = t.peek()
	t.next = nil
	t.targets = append(t.targets[:0], s.target)
	i := s.target.Index()
	if s.request = l.play.requests[i]; s.request != nil {
		return nil
	}
	w := s.letter
	v := &w.view
	t.user.View(v, s.target)
	if w.own[i] == nil || w.fields[i] != len(v.Fields) { // the first cookie adds a field
		var err error
		w.fields[i] = len(v.Fields)
		w.own[i], err = newRequest(v, s.target, true)
		s.request = w.own[i]
		return err
	}
	s.request = w.own[i]
	at := 4
	if v.Authority == "" {
		at = 3
	}
	s.request.Set(at-1, v.Path)
	for _, f := range v.Fields {
		s.request.Set(at, trim(f.Value))
		at++
	}
	if s.target.Stream() == nil {
		s.request.SetBody(v.Body)
		if s.request.Fields() > at {
			w.length = strconv.AppendInt(w.length[:0], int64(len(v.Body)), 10)
			s.request.Set(at, w.length)
		}
	}
	return nil
}

// flushFrames sends pending frames, in one write if they are small.
func (l *loop) flushFrames(c *conn) {
	m := c.mux
	more, err := m.wire.Flush()
	if err != nil {
		l.broken = wrap("read body to send", err)
	}
	if !m.wire.Unsent() {
		l.rec.Sent += uint64(m.unsent)
		m.unsent = 0
	}
	if more && !c.trickling {
		c.trickling = true
		l.wake(c, l.Now(), wakeWrite)
	}
}

// writable is called when the socket accepts bytes again.
func (l *loop) writable(c *conn) {
	if c.mux != nil {
		l.flushFrames(c)
		return
	}
	l.unblock(c)
}
