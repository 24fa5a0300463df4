package push

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push/format"
)

// TestModel runs hubs against a simple reference, which knows every event that was
// published. Publishers, clients that read, stall, leave and come back, restarts of the hub
// and its clock take turns at random. Each client has to get every event of its topics
// once and in order, or a gap where it does not. A hub that is shut down first gives each client
// what it is owed.
func TestModel(t *testing.T) {
	runs := 2000
	if raceEnabled {
		runs = 100 // the detector makes each ten times as long
	}
	for seed := range uint64(runs) {
		if newModel(t, seed, func(*model) {}).run(); t.Failed() {
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
	forgets bool // the hub remembers few IDs of events that it does not hold
	large   bool // some events are
	broker  *modelBroker
}

// published is what the reference knows of an event.
type published struct {
	seq            uint64
	id, topic, key string
	own            string // the ID that the publisher gave
}

// fakeLoop keeps walks until the model takes their steps.
type fakeLoop struct {
	walks  []func() *redline.Subscription
	later  []func()
	behind []*client // visited, and their turn comes later
}

func (l *fakeLoop) Walk(next func() *redline.Subscription) bool {
	l.walks = append(l.walks, next)
	return true
}

func (l *fakeLoop) Later(_ time.Duration, f func()) bool {
	l.later = append(l.later, f)
	return true
}

func newModel(t *testing.T, seed uint64, change func(*model)) *model {
	m := &model{t: t, r: rand.New(rand.NewPCG(seed, 2)), loop: new(fakeLoop)}
	m.forgets = m.r.IntN(4) == 0
	m.options = Options{
		MaxTopics:   4 + m.r.IntN(16),
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
	m.options.Rules[1].QueueEvents = 1 + m.r.IntN(m.options.QueueEvents)
	change(m)
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
	hub.mu.Lock()
	hub.cluster.patience = 0
	hub.history.most = 4 + m.r.IntN(30) // resumptions take several turns
	if m.forgets {
		hub.history.former.most = 2 * idBytes
	}
	hub.mu.Unlock()
	m.hub, m.loop = hub, new(fakeLoop)
	if m.broker == nil {
		m.events = nil
	} else {
		m.broker.release()
		until(m.t, "the node is ready", hub.Ready)
	}
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
			if m.r.IntN(2) == 0 {
				m.shutdown()
			}
			m.restart()
		case n < 66:
			m.step()
		case n < 69:
			m.hurry()
		case n < 70 && m.broker != nil:
			m.broker.hold()
		default:
			if len(m.clients) > 0 {
				m.act(m.clients[m.r.IntN(len(m.clients))])
			}
		}
		m.settle()
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
	if m.large && m.r.IntN(2) == 0 {
		e.Data = bytes.Repeat([]byte("x"), 150<<10)
	}
	if m.r.IntN(3) == 0 {
		e.Key = "k" + strconv.Itoa(m.r.IntN(2))
	}
	if m.r.IntN(3) == 0 {
		m.ids++
		e.ID = "id" + strconv.Itoa(m.ids)
	}
	known := false
	if len(m.events) > 0 && m.r.IntN(10) == 0 {
		if old := m.events[m.r.IntN(len(m.events))]; old.own != "" && (!m.forgets || m.hub.history.ids[old.own] != nil) {
			e.ID, known = old.own, true
		}
	}
	r, err := m.hub.Publish(context.Background(), e)
	if err != nil || r.Duplicate != known {
		m.t.Errorf("duplicate %v, want %v; %v", r.Duplicate, known, err)
	}
	if known {
		return
	}
	seq, _ := m.hub.position(r.ID)
	if m.settle(); seq == 0 {
		seq = m.hub.seq
	}
	m.cut()
	m.events = append(m.events, published{seq: seq, id: r.ID, own: e.ID, topic: e.Topic, key: e.Key})
}

// cut has those leave whose connections were cut, and then wants the hub to have no more than it may.
func (m *model) cut() {
	for _, c := range m.clients {
		if c.sub != nil && c.sub.state&severed != 0 {
			m.leave(c)
		}
	}
	if n := m.hub.bytes.Load(); n > m.hub.o.MaxBytes {
		m.t.Errorf("%d bytes are counted, more than MaxBytes", n)
	}
}

// join connects a client, which resumes if it has an ID.
func (m *model) join(c *client) {
	if !slices.Contains(m.clients, c) {
		m.clients = append(m.clients, c)
	}
	c.sent, c.ended, c.room = nil, false, m.r.IntN(500)
	if seq, ours := m.hub.position(c.lastID); ours && m.broker == nil {
		c.at = max(c.at, seq) // it may have read the gap that ends there, and nothing after it
	}
	if c.excused, c.slow, c.next = 0, 0, ""; c.lastID == earliest && m.broker == nil {
		c.excused = m.hub.history.newest
	}
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
		case 2:
			c.lastID = earliest
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
			c.sent = append(c.sent, f.bytes()...)
		}
		c.ended = t.done
		t.release()
	}
}

// shutdown ends the hub while clients catch up, and has everybody read: see client.bye.
func (m *model) shutdown() {
	m.hub.close()
	for range 1000 {
		if m.hub.dismiss(1) == 1 && m.hub.limits.total() == 0 {
			return
		}
		m.calm()
	}
	m.t.Errorf("%d clients are left after the shutdown", m.hub.limits.total())
}

func (m *model) leave(c *client) {
	if c.native != nil {
		c.native.forget()
	}
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
	if err := h.stopCluster(context.Background()); err != nil { // it holds what it has received last
		m.t.Error(err)
	}
	h.clockSkew.Add(int64(time.Hour))
	h.mu.Lock()
	h.history.expire(1)
	h.mu.Unlock()
	left := int64(len(h.history.logs)*overhead + len(h.history.ghosts)*ghostBytes)
	for _, f := range h.history.former.order {
		left += f.weight()
	}
	if st := h.Stats(); st.Subscribers != 0 || st.Events != 0 || st.Bytes != left || m.forgets && len(h.history.former.order) > 2 {
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
	if m.broker != nil {
		m.broker.release()
	}
	m.settle()
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
