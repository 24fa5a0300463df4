package pushnats

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// shelfBytes bounds what a shelf holds.
const shelfBytes = 16 << 20

// A spot asks for the next message of a subject from a place on. The answer never changes once there is
// one: places ascend.
type spot struct {
	subject string
	from    uint64
}

// A reading is under way until done is closed.
type reading struct {
	done chan struct{}
	m    *jetstream.RawStreamMsg
	err  error
}

// A shelf holds messages that were read from the stream lately. Clients that a restarted node resumes ask
// for the same ones: each is read once. It belongs to an epoch.
type shelf struct {
	mu       sync.Mutex
	readings map[spot]*reading
	oldest   []spot // those that were read, in the order in which they are given up
	bytes    int
}

func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readings, s.oldest, s.bytes = nil, nil, 0
}

// get returns the message at a spot, which load reads unless the shelf has it. An error is nobody
// else's: also that there is no message holds only for who asked before.
func (s *shelf) get(ctx context.Context, at spot, load func() (*jetstream.RawStreamMsg, error)) (*jetstream.RawStreamMsg, error) {
	for {
		s.mu.Lock()
		r := s.readings[at]
		if r == nil {
			break
		}
		s.mu.Unlock()
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if r.err == nil {
			return r.m, nil
		}
	}
	r := &reading{done: make(chan struct{})}
	if s.readings == nil {
		s.readings = map[spot]*reading{}
	}
	s.readings[at] = r
	s.mu.Unlock()
	r.m, r.err = load()
	s.keep(at, r)
	close(r.done)
	return r.m, r.err
}

// keep holds what was read, and gives up what was read before it.
func (s *shelf) keep(at spot, r *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.readings[at] != r: // of another epoch
		return
	case r.err != nil:
		delete(s.readings, at)
		return
	}
	s.oldest = append(s.oldest, at)
	for s.bytes += weight(at, r.m); s.bytes > shelfBytes; s.oldest = s.oldest[1:] {
		first := s.oldest[0]
		s.bytes -= weight(first, s.readings[first].m)
		delete(s.readings, first)
	}
}

// weight is what a message takes, about.
func weight(at spot, m *jetstream.RawStreamMsg) int {
	n := 400 + len(at.subject) + len(m.Subject) + len(m.Data)
	for name, values := range m.Header {
		n += len(name) + 50
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}
