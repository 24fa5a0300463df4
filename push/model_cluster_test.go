package push

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/redline-go/redline/push/topic"
)

// TestModelCluster is TestModel for a node of a cluster: what it does not hold itself it reads of a broker, which
// answers when the model lets it, so that clients leave while they wait. A restart loses nothing.
func TestModelCluster(t *testing.T) {
	runs := 1000
	if raceEnabled {
		runs = 50
	}
	for seed := range uint64(runs) {
		m := newModel(t, seed, func(m *model) {
			m.broker = new(modelBroker)
			m.options.Broker, m.forgets = m.broker, false
			m.options.Fill = []int{-1, 1, 20, 1000}[m.r.IntN(4)]
		})
		if m.run(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestModelRestarts: a node is restarted, and all its clients come back at once and resume, while events are
// published, and some leave while they wait. Each gets what it has missed.
func TestModelRestarts(t *testing.T) {
	clients := 1000 * *scale
	if raceEnabled {
		clients = 100
	}
	for seed := range uint64(4) {
		m := newModel(t, seed, func(m *model) {
			m.broker = new(modelBroker)
			m.options.Broker, m.forgets, m.options.MaxTopics = m.broker, false, 16
			m.options.Fill = []int{-1, 1, 20, 1000}[seed]
		})
		for range clients {
			m.join(&client{m: m, filters: m.someFilters()})
		}
		for range 3 {
			for range 10 {
				m.publish()
				m.act(m.clients[m.r.IntN(clients)])
			}
			m.calm()
			m.restart()
			m.publish()
			m.broker.hold()
			for i, c := range m.clients {
				if m.join(c); i%10 == 0 {
					m.turn(c)
					m.leave(c)
				}
				if i%(clients/10) == 0 {
					m.publish()
				}
			}
			m.broker.release()
		}
		if m.finish(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestModelLarge is TestModel with events that are large, for what MaxBytes allows: clients that read nothing are
// ended, and no more memory is used than allowed, but by what has been encoded since.
func TestModelLarge(t *testing.T) {
	runs := 60
	if raceEnabled {
		runs = 10
	}
	for seed := range uint64(runs) {
		m := newModel(t, seed, func(m *model) {
			m.large = true
			m.options.MaxBytes, m.options.QueueBytes = 2<<20, 1<<30
		})
		if m.run(); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// settle waits until the node has what the broker has, and has what it reads of it, unless that is held.
func (m *model) settle() {
	if m.broker == nil {
		return
	}
	if m.r.IntN(10) == 0 {
		m.broker.release()
	}
	held := m.broker.holds()
	settled := func() bool {
		last, _ := m.broker.last()
		m.hub.mu.Lock()
		defer m.hub.mu.Unlock()
		for _, sh := range m.hub.plain {
			sh.mu.Lock()
			n := len(sh.inbox)
			if sh.mu.Unlock(); n > 0 {
				return false
			}
		}
		return m.hub.seq == last && (held || len(m.hub.cluster.reads.by) == 0)
	}
	for range 1000 { // it seldom takes as long as until sleeps
		if settled() {
			return
		}
		runtime.Gosched()
	}
	until(m.t, "the node has what the broker has", settled)
}

// A modelBroker keeps everything. Its replays wait while it is held.
type modelBroker struct {
	mu      sync.Mutex
	records []Record
	ids     map[string]uint64
	moved   chan struct{}
	held    chan struct{} // nil: it is not
}

func (b *modelBroker) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil {
		b.held = make(chan struct{})
	}
}

func (b *modelBroker) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held != nil {
		close(b.held)
		b.held = nil
	}
}

func (b *modelBroker) holds() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil
}

// last returns the last place, and what is closed when there is another one.
func (b *modelBroker) last() (uint64, chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.moved == nil {
		b.moved = make(chan struct{})
	}
	return uint64(len(b.records)), b.moved
}

// after returns the events after a place.
func (b *modelBroker) after(seq uint64) []Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.records[seq:])
}

func (b *modelBroker) Open(context.Context) (Span, error) {
	last, _ := b.last()
	return Span{Epoch: "model", First: 1, Last: last}, nil
}

func (b *modelBroker) Publish(_ context.Context, e Event) (seq uint64, repeated bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seq := b.ids[e.ID]; seq > 0 {
		return seq, true, nil
	}
	seq = uint64(len(b.records)) + 1
	if e.ID != "" {
		if b.ids == nil {
			b.ids = map[string]uint64{}
		}
		b.ids[e.ID] = seq
	}
	b.records = append(b.records, Record{seq, e})
	if b.moved != nil {
		close(b.moved)
		b.moved = nil
	}
	return seq, false, nil
}

func (b *modelBroker) Follow(ctx context.Context, after uint64, f func(Record)) error {
	for {
		_, moved := b.last()
		for _, r := range b.after(after) {
			f(r)
			after = r.Seq
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *modelBroker) Replay(ctx context.Context, after, until uint64, filters []string, f func(Record) bool) (uint64, error) {
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	for _, r := range b.after(after) {
		wanted := slices.ContainsFunc(filters, func(p string) bool { return topic.Match(p, r.Event.Topic) })
		if r.Seq > until || wanted && !f(r) {
			break
		}
	}
	return 1, ctx.Err()
}
