package push

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// TestModel runs hubs against a simple reference, which knows every event that was
// published. Publishers, clients that read, stall, leave and come back, restarts of the hub
// and its clock take turns at random. Each client has to get every event of its topics
// once and in order, or a gap where it does not.
func TestModel(t *testing.T) {
	runs := 2000
	if testing.Short() {
		runs = 300
	}
	for seed := range uint64(runs) {
		if newModel(t, seed).run(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type model struct {
	t       *testing.T
	r       *rand.Rand
	options Options
	hub     *Hub
	loop    *fakeLoop
	events  []published // of this epoch
	clients []*client
	ids     int
}

// published is what the reference knows of an event.
type published struct {
	seq            uint64
	id, topic, key string
}

// fakeLoop keeps walks until the model takes their steps.
type fakeLoop struct {
	walks  []func() *redline.Subscription
	behind []*client // visited, and their turn comes later
}

func (l *fakeLoop) Walk(next func() *redline.Subscription) bool {
	l.walks = append(l.walks, next)
	return true
}

func (l *fakeLoop) Later(time.Duration, func()) bool { return false }

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

// write implements output.
func (c *client) write(f *frame) bool {
	if len(c.sent) > 0 && len(c.sent)+len(f.bytes) > c.room {
		return false
	}
	c.sent = append(c.sent, f.bytes...)
	return true
}

func (c *client) end() { c.ended = true }

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, r: rand.New(rand.NewPCG(seed, 2)), loop: new(fakeLoop)}
	m.options = Options{
		Formats:     []format.Format{plainText{}},
		QueueEvents: 1 + m.r.IntN(8), QueueBytes: 1024, Heartbeat: -1, Lifetime: -1,
		History: History{Events: 1 + m.r.IntN(10), Age: time.Minute},
		Rules: []Rule{
			{Pattern: "new/**", Policy: DropNewest},
			{Pattern: "key/**", Policy: Conflate},
			{Pattern: "cut/**", Policy: Disconnect},
			{Pattern: "bare/**", History: History{Events: -1}},
		},
	}
	m.restart()
	return m
}

func (m *model) restart() {
	if m.hub != nil {
		_ = m.hub.Close()
	}
	hub, err := New(m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	m.hub, m.events, m.loop = hub, nil, new(fakeLoop)
	for _, c := range m.clients {
		c.sub = nil
	}
}

func (m *model) run() {
	for range 120 {
		switch n := m.r.IntN(100); {
		case n < 45:
			m.publish()
		case n < 55:
			m.join(&client{m: m, filters: m.someFilters()})
		case n < 58:
			m.hub.clockSkew.Add(int64(time.Duration(m.r.IntN(40)) * time.Second))
			m.hub.mu.Lock()
			m.hub.history.expire(1)
			m.hub.mu.Unlock()
		case n < 59:
			m.restart()
		case n < 70:
			m.step()
		default:
			if len(m.clients) > 0 {
				m.act(m.clients[m.r.IntN(len(m.clients))])
			}
		}
		if m.t.Failed() {
			return
		}
	}
	m.finish()
}

func (m *model) someTopic() string {
	return []string{"old", "new", "key", "cut", "bare"}[m.r.IntN(5)] + "/" + strconv.Itoa(m.r.IntN(3))
}

func (m *model) someFilters() (f []string) {
	for range 1 + m.r.IntN(3) {
		f = append(f, []string{m.someTopic(), "old/*", "*/1", "**", "key/**"}[m.r.IntN(5)])
	}
	slices.Sort(f)
	return slices.Compact(f)
}

func (m *model) publish() {
	e := Event{Topic: m.someTopic(), Data: make([]byte, m.r.IntN(100))}
	if m.r.IntN(3) == 0 {
		e.Key = "k" + strconv.Itoa(m.r.IntN(2))
	}
	if m.r.IntN(3) == 0 {
		m.ids++
		e.ID = "id" + strconv.Itoa(m.ids)
	}
	for id := range m.hub.history.ids {
		if m.r.IntN(20) == 0 {
			e.ID = id // a duplicate
		}
		break
	}
	r, err := m.hub.Publish(context.Background(), e)
	if err != nil {
		m.t.Error(err)
	}
	if r.Duplicate {
		return
	}
	m.events = append(m.events, published{seq: m.hub.seq, id: r.ID, topic: e.Topic, key: e.Key})
}

// join connects a client, which resumes if it has an ID.
func (m *model) join(c *client) {
	if !slices.Contains(m.clients, c) {
		m.clients = append(m.clients, c)
	}
	c.sent, c.ended, c.room = nil, false, m.r.IntN(500)
	c.excused, c.slow, c.next = 0, 0, ""
	j := &joining{filters: c.filters, lastID: c.lastID}
	var on loop
	if c.native = nil; m.r.IntN(2) == 0 {
		c.native = &looped{on: new(redline.Subscription)}
		c.native.sink = c.native
		c.sub, on = &c.native.subscriber, m.loop
	} else {
		c.sub = &subscriber{sink: c}
	}
	if err := m.hub.admit(c.sub, j); err != nil {
		m.t.Fatal(err)
	}
	m.hub.join(c.sub, on, j)
}

// act has a client do something.
func (m *model) act(c *client) {
	switch n := m.r.IntN(10); {
	case c.sub == nil:
		switch m.r.IntN(20) {
		case 0:
			c.lastID = ""
		case 1:
			c.lastID = "garbage"
		}
		m.join(c)
	case n < 4:
		m.turn(c)
	case n < 8:
		c.read(len(c.sent))
	default: // it crashes, having read a part
		if c.read(m.r.IntN(len(c.sent) + 1)); c.sub != nil {
			m.leave(c)
		}
	}
}

// turn gives a client what is due.
func (m *model) turn(c *client) {
	switch {
	case c.ended:
	case c.native != nil:
		c.native.turn(c)
	case len(c.sent) < c.room || len(c.sent) == 0:
		var t turn
		m.hub.turn(c.sub, &t)
		for _, f := range t.frames {
			c.sent = append(c.sent, f.bytes...)
		}
		c.ended = t.done
	}
}

func (m *model) leave(c *client) {
	m.hub.leave(c.sub)
	m.loop.behind = slices.DeleteFunc(m.loop.behind, func(b *client) bool { return b == c })
	c.sub, c.native, c.sent = nil, nil, nil
}

// step takes a step of the first walk: the turn follows at once, or later.
func (m *model) step() {
	if len(m.loop.walks) == 0 {
		return
	}
	s := m.loop.walks[0]()
	if s == nil {
		m.loop.walks = m.loop.walks[1:]
	}
	for _, c := range m.clients {
		switch {
		case s == nil || c.native == nil || c.native.on != s:
		case m.r.IntN(4) > 0:
			m.turn(c)
		default:
			m.loop.behind = append(m.loop.behind, c)
		}
	}
	if m.r.IntN(2) == 0 {
		for _, c := range m.loop.behind {
			m.turn(c)
		}
		m.loop.behind = nil
	}
}

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
	switch g.Reason {
	case "epoch":
		c.at = 0
	case "unknown-id":
		c.at = c.seq(g.ID)
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

// finish lets all clients catch up, and wants nothing to be left of them.
func (m *model) finish() {
	for round := range 3 {
		for _, c := range m.clients {
			if c.sub == nil && round < 2 {
				m.join(c)
			}
		}
		for idle := 0; idle < 10; idle++ {
			if m.calm() {
				idle = 0
			}
		}
	}
	for _, c := range m.clients {
		if c.sub != nil {
			c.account(m.hub.seq)
			m.leave(c)
		}
	}
	for len(m.loop.walks) > 0 {
		m.step()
	}
	h := m.hub
	h.clockSkew.Add(int64(time.Hour))
	h.mu.Lock()
	h.history.expire(1)
	h.mu.Unlock()
	if st := h.Stats(); st.Subscribers != 0 || st.Events != 0 || st.Bytes != int64(st.Topics*overhead) {
		m.t.Errorf("this is left: %+v", st)
	}
	for _, sh := range h.shards {
		if sh.index.Len() != 0 || len(sh.inbox) != 0 {
			m.t.Errorf("%d lists and %d messages are left", sh.index.Len(), len(sh.inbox))
		}
	}
	_ = h.Close()
}

// calm has everybody read, and reports whether there was anything to do.
func (m *model) calm() (busy bool) {
	for len(m.loop.walks) > 0 {
		busy = true
		m.step()
	}
	for _, c := range m.clients {
		if c.sub == nil {
			continue
		}
		c.room = 500
		m.turn(c)
		busy = busy || len(c.sent) > 0
		c.read(len(c.sent))
	}
	return busy
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
