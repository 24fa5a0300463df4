package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// idle is a sink whose client reads nothing: nobody takes its turns.
type idle struct{ subscriber }

func (*idle) wake()  {}
func (*idle) abort() {}

func (*idle) unsent(func(*frame)) {}
func (*idle) discard()            {}

func join(t *testing.T, h *Hub, filters ...string) (*idle, error) {
	t.Helper()
	s := new(idle)
	s.sink = s
	j := &joining{filters: filters, address: "192.0.2.1", user: "u"}
	if err := h.admit(&s.subscriber, j); err != nil {
		return nil, err
	}
	h.join(&s.subscriber, nil, j)
	return s, nil
}

// TestMaxBytes: whatever is published to clients that read nothing, memory stays under its
// ceiling, and those that are furthest behind go first.
func TestMaxBytes(t *testing.T) {
	const most = 4 << 20
	h, err := New(Options{MaxBytes: most, QueueBytes: 64 << 20, QueueEvents: 1 << 16, Heartbeat: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	old, err := join(t, h, "t")
	if err != nil {
		t.Fatal(err)
	}
	var late *idle
	for i := range 1000 {
		if i == 20 {
			if late, err = join(t, h, "t"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Publish(context.Background(), Event{Topic: "t", Data: make([]byte, 16<<10)}); err != nil {
			t.Fatal(err)
		}
		if n := h.bytes.Load(); n > most {
			t.Fatalf("%d bytes after %d events", n, i+1)
		}
		if old.bye != 0 && late != nil && late.bye == 0 && late.queue == nil {
			t.Fatal("the one that is less far behind has lost its queue")
		}
	}
	if st := h.Stats(); st.Endings["memory"] != 2 || old.bye != byeMemory || late.bye != byeMemory {
		t.Errorf("got %+v", st)
	}
	for i := 0; ; i++ {
		switch _, err := join(t, h, fmt.Sprint("own/", i)); {
		case err == nil && i <= most/subscriberBytes:
			continue
		case err != errMemory:
			t.Errorf("subscriber %d: %v", i, err)
		}
		break
	}
}

// keeping is a client whose connection keeps a frame until it has been closed.
type keeping struct {
	idle
	has *frame
}

func (k *keeping) unsent(yield func(*frame)) { yield(k.has) }

// TestMaxBytesAdmits: those who keep what nobody else needs do not keep others out, neither by their queues nor by
// what their connections give back only when they have been closed.
func TestMaxBytesAdmits(t *testing.T) {
	const most, size = 4 << 20, 1 << 20
	for _, connection := range []bool{false, true} {
		t.Run(fmt.Sprint("connection ", connection), func(t *testing.T) {
			h := newHub(t, Options{MaxBytes: most, QueueBytes: 64 << 20, History: History{Events: -1}, Heartbeat: -1})
			slow := new(keeping)
			slow.sink = slow
			if err := h.admit(&slow.subscriber, &joining{filters: []string{"t"}}); err != nil {
				t.Fatal(err)
			}
			h.join(&slow.subscriber, nil, &joining{filters: []string{"t"}})
			of := &held{hub: h}
			of.refs.Store(1)
			if slow.has = newFrame(nil, nil); connection {
				slow.has = newFrame(nil, of)
			}
			h.turn(&slow.subscriber, new(turn))
			publish(t, h, Event{Topic: "t", Data: make([]byte, size)})
			if connection { // as if it had been encoded since
				of.charge(most)
			} else {
				slow.queue.items[0].m.charge(most)
			}
			for range 100 {
				if _, err := join(t, h, "t"); err != nil {
					t.Fatalf("with %d bytes: %v", h.bytes.Load(), err)
				}
			}
			if slow.bye != byeMemory {
				t.Errorf("the slow one stays: %+v", h.Stats())
			}
		})
	}
}

// TestMaxBytesShares: subscribers of very much do not cost others what they may resume from.
func TestMaxBytesShares(t *testing.T) {
	const most, held = 4 << 20, 10
	h := newHub(t, Options{MaxBytes: most})
	for range held {
		publish(t, h, Event{Topic: "kept"})
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("tenant/%d/*/orders", i))
	}
	for i := 0; ; i++ {
		if _, err := join(t, h, many...); err == errMemory && i > 0 {
			break
		} else if err != nil || i > most/len(many) {
			t.Fatalf("subscriber %d: %v", i, err)
		}
	}
	publish(t, h, Event{Topic: "other", Data: make([]byte, 64<<10)})
	if st := h.Stats(); st.Events != held+1 || st.Bytes > most {
		t.Errorf("got %+v, want all events in the history", st)
	}
}

// TestNetworks wants the addresses that one client may have to count as one.
func TestNetworks(t *testing.T) {
	h, err := New(Options{MaxPerAddress: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, c := range []struct {
		address string
		want    error
	}{
		{"2001:db8::1", nil},
		{"2001:db8::2", errAddress},
		{"2001:db8:0:0:ffff::", errAddress},
		{"2001:db8:0:1::1", nil},
		{"192.0.2.1", nil},
		{"192.0.2.1", errAddress},
		{"192.0.2.2", nil},
		{"::ffff:192.0.2.7", nil},
		{"::ffff:192.0.2.8", nil},
		{"fe80::1%eth0", nil},
		{"fe80::2%eth0", nil},
		{"a name", nil},
		{"", nil},
		{"", nil},
	} {
		s := new(idle)
		s.sink = s
		j := &joining{filters: []string{"t"}, address: c.address}
		if err := h.admit(&s.subscriber, j); err != c.want {
			t.Errorf("%q: %v, want %v", c.address, err, c.want)
		}
	}
}

// TestRelieve: subscribers whose queues the history holds too stay, and the history gets shorter.
// They are ended only when it is as short as what they wait for.
func TestRelieve(t *testing.T) {
	const most, data = 4 << 20, 16 << 10
	h := newHub(t, Options{MaxBytes: most, QueueEvents: 10, History: History{Events: 1000, Bytes: 64 << 20}})
	fill := func(n int) {
		t.Helper()
		for range n {
			publish(t, h, Event{Topic: "t", Data: make([]byte, data)})
		}
	}
	fill(100)
	for range 20 {
		s, err := join(t, h, "t")
		if err != nil {
			t.Fatal(err)
		}
		lines(h, s)
		defer h.leave(&s.subscriber)
	}
	fill(10)
	h.mu.Lock()
	for _, l := range h.history.logs { // as if it had taken more
		for _, m := range l.events {
			m.charge(2 * data)
		}
	}
	h.mu.Unlock()
	fill(30)
	if st := h.Stats(); st.Endings["memory"] != 0 || st.Bytes > most || st.Events < 10 {
		t.Errorf("got %+v", st)
	}
	h.bytes.Add(2 * most)
	fill(1)
	h.bytes.Add(-2 * most)
	if st := h.Stats(); st.Endings["memory"] != 20 || st.Events != 0 {
		t.Errorf("without anything else to free: got %+v", st)
	}
}

// TestRelieveBehind: MaxBytes also bounds what a loop has not come to yet, and that does not cost others what they
// may resume from.
func TestRelieveBehind(t *testing.T) {
	const most, held = 4 << 20, 10
	h := newHub(t, Options{MaxBytes: most, Rules: []Rule{{Pattern: "big", History: History{Events: -1}}}})
	for range held {
		publish(t, h, Event{Topic: "kept"})
	}
	loop := newLooping()
	l := loop.listen(t, h, &joining{filters: []string{"big"}})
	l.room = 1
	for range 10 {
		publish(t, h, Event{Topic: "big", Data: make([]byte, 1<<20)})
		if st := h.Stats(); st.Events != held || st.Bytes > most {
			t.Fatalf("got %+v, want %d events in the history", st, held)
		}
	}
	loop.run()
	if st := h.Stats(); st.Events != held || st.Bytes > most || l.bye != "" {
		t.Errorf("when the loop is no longer behind: got %+v, bye %q", st, l.bye)
	}
	l.leave()
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{QueueEvents: -1},
		{QueueBytes: 1},
		{MaxDelay: time.Hour},
		{MaxBytes: 1},
		{Policy: 9},
		{Heartbeat: time.Nanosecond},
		{Rules: []Rule{{Pattern: "**/a"}}},
		{Rules: []Rule{{Pattern: "a", Policy: 9}}},
	} {
		if h, err := New(o); err == nil {
			h.Close()
			t.Errorf("%+v is accepted", o)
		}
	}
	h, err := New(Options{History: History{Events: -1}, Heartbeat: -1, Lifetime: -1, Spread: -1, MaxPerUser: -1})
	if err != nil {
		t.Fatal(err)
	}
	_ = h.Close()
}

func TestBadEvents(t *testing.T) {
	h, err := New(Options{MaxEventBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	long := string(make([]byte, 256))
	for _, e := range []Event{
		{},
		{Topic: "a/*"},
		{Topic: "a\n"},
		{Topic: "a", Type: "hub:gap"},
		{Topic: "a", Type: "x\ny"},
		{Topic: "a", ID: "x\r"},
		{Topic: "a", ID: " x"},
		{Topic: "a", ID: "\xff"},
		{Topic: "a", ID: long},
		{Topic: "a", Key: long},
		{Topic: "a", ID: h.id(7)},
	} {
		if _, err := h.Publish(context.Background(), e); !errors.Is(err, ErrBadEvent) {
			t.Errorf("%.80q: %v", fmt.Sprint(e), err)
		}
	}
	if _, err := h.Publish(context.Background(), Event{Topic: "a", Data: make([]byte, 11)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

// TestClock: events become too old by the hub's clock, and an event of the past is as old as
// it says.
func TestClock(t *testing.T) {
	h, err := New(Options{History: History{Age: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	publish := func(ago time.Duration) {
		t.Helper()
		e := Event{Topic: "t", Time: time.Now().Add(-ago)}
		if _, err := h.Publish(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	held := func(what string, n int) {
		t.Helper()
		h.mu.Lock()
		h.history.expire(1)
		h.mu.Unlock()
		if got := h.Stats().Events; got != n {
			t.Errorf("%s: %d events, want %d", what, got, n)
		}
	}
	publish(0)
	publish(30 * time.Second)
	publish(-time.Hour)
	held("new ones", 3)
	publish(time.Hour)
	held("an old one leaves no hole, and goes with those before it", 4)
	h.clockSkew.Add(int64(70 * time.Second))
	held("which are too old", 0)
	publish(time.Hour)
	held("an old one alone", 0)
	publish(30 * time.Second)
	publish(0)
	h.clockSkew.Add(int64(40 * time.Second))
	held("one is too old", 1)
	h.clockSkew.Add(int64(time.Hour))
	held("all are", 0)
}

// TestMaxTopics: of topics that are too many some are forgotten, and that is a gap for those
// who may have missed something.
func TestMaxTopics(t *testing.T) {
	h, err := New(Options{MaxTopics: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for i := range 1000 {
		if _, err := h.Publish(context.Background(), Event{Topic: fmt.Sprint("t/", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if st := h.Stats(); st.Topics != 10 || st.Events != 10 {
		t.Errorf("got %+v", st)
	}
	if got := len(h.Topics("t/*")); got != 10 || len(h.Topics("none")) != 0 {
		t.Errorf("%d topics", got)
	}
	for _, c := range []struct {
		after   uint64
		filters []string
		lost    bool
	}{
		{1, []string{"t/3"}, true},
		{4, []string{"t/3"}, false},
		{4, []string{"t/3", "other"}, false},
		{4, []string{"t/3/**"}, false},
		{4, []string{"*/3"}, false},
		{3, []string{"*/3"}, true},
		{4, []string{"t/*"}, true},
	} {
		h.history.room = h.history.most
		if lost, known := h.history.missing(new(catchUp), c.after, c.filters); !known || lost > 0 != c.lost {
			t.Errorf("%q after %d: %d is lost", c.filters, c.after, lost)
		}
	}
	for i := range 2 * maxGhosts { // more than it remembers
		publish(t, h, Event{Topic: fmt.Sprint("u/", i)})
	}
	if n := h.history.faded.len(); n != maxGhosts || len(h.history.ghosts) != n {
		t.Errorf("%d ghosts, %d by name", n, len(h.history.ghosts))
	}
	if lost, _ := h.history.missing(new(catchUp), 1, []string{"t/3"}); lost == 0 {
		t.Error("nothing is missing that was forgotten")
	}
}

// TestReturningTopic: a topic that was forgotten and has events again knows what it has lost.
func TestReturningTopic(t *testing.T) {
	h := newHub(t, Options{MaxTopics: 1})
	for _, name := range []string{"a", "b", "a", "b", "c"} {
		publish(t, h, Event{Topic: name})
	}
	publish(t, h, Event{Topic: "a"})
	for filter, want := range map[string][]string{"a": {"G 5 1 6 0 history", "E 6 a"}, "b": {"G 6 1 4 0 history"}, "none": nil} {
		if got := told(t, h, h.id(1), filter); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", filter, got, want)
		}
	}
}
