package topics

import "sync"

// room is how many events may wait for a subscriber; one that is further behind misses the
// next.
const room = 64

// Topics holds the subscribers by topic. The zero value is ready to use.
type Topics struct {
	mu sync.RWMutex
	of map[string]map[*Subscriber]struct{}
}

// A Subscriber receives what is published to its topic, from Join until Leave.
type Subscriber struct {
	Events chan []byte // shared by all subscribers: nobody writes to their bytes

	topics *Topics
	topic  string
}

// Join adds a subscriber. The caller must call Leave.
func (t *Topics) Join(topic string) *Subscriber {
	s := &Subscriber{Events: make(chan []byte, room), topics: t, topic: topic}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]map[*Subscriber]struct{}{}
	}
	if t.of[topic] == nil {
		t.of[topic] = map[*Subscriber]struct{}{}
	}
	t.of[topic][s] = struct{}{}
	return s
}

// Leave removes the subscriber.
func (s *Subscriber) Leave() {
	t := s.topics
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.of[s.topic], s); len(t.of[s.topic]) == 0 {
		delete(t.of, s.topic)
	}
}

// Publish hands an event to all subscribers of a topic, and waits for none of them.
func (t *Topics) Publish(topic string, event []byte) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for s := range t.of[topic] {
		select {
		case s.Events <- event:
		default:
		}
	}
}
