package topics

import "testing"

func TestTopics(t *testing.T) {
	var topics Topics
	a, b, other := topics.Join("x"), topics.Join("x"), topics.Join("y")
	topics.Publish("x", []byte("1"))
	b.Leave()
	topics.Publish("x", []byte("2"))
	topics.Publish("nobody", []byte("3"))
	for name, test := range map[string]struct {
		s    *Subscriber
		want []string
	}{"a": {a, []string{"1", "2"}}, "b": {b, []string{"1"}}, "other": {other, nil}} {
		if len(test.s.Events) != len(test.want) {
			t.Errorf("%s has %d events, want %d", name, len(test.s.Events), len(test.want))
			continue
		}
		for _, want := range test.want {
			if got := string(<-test.s.Events); got != want {
				t.Errorf("%s: event %q, want %q", name, got, want)
			}
		}
	}
	a.Leave()
	other.Leave()
	if len(topics.of) != 0 {
		t.Errorf("%d topics are left without subscribers", len(topics.of))
	}
}

// A subscriber that does not read does not block a publish, and misses what is beyond its room.
func TestFull(t *testing.T) {
	var topics Topics
	s := topics.Join("x")
	defer s.Leave()
	for range room + 10 {
		topics.Publish("x", nil)
	}
	if len(s.Events) != room {
		t.Errorf("%d events wait, want %d", len(s.Events), room)
	}
}
