package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeWire is a Wire whose other end is the test.
type fakeWire struct {
	in  chan *Message
	out chan *Message
	err error
}

func newWire() *fakeWire {
	return &fakeWire{in: make(chan *Message, 16), out: make(chan *Message, 1024)}
}

func (w *fakeWire) Send(m *Message) error {
	w.out <- m
	return w.err
}

func (w *fakeWire) Inbox() <-chan *Message { return w.in }

// tell sends a message to the worker.
func (w *fakeWire) tell(m Message) {
	m.Arrived = time.Now()
	w.in <- &m
}

// serve runs a worker until it ends.
func serve(t *testing.T, w *fakeWire, k Worker) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	return k.Work(ctx, w)
}

func TestNobodyAnswers(t *testing.T) {
	if err := serve(t, newWire(), Worker{Patience: 1}); err == nil || !strings.Contains(err.Error(), "no answer from a coordinator for 1ns") {
		t.Errorf("no coordinator: %v", err)
	}
	w := newWire()
	w.tell(Message{Beat: &Beat{Seq: 1}})
	w.tell(Message{Order: &Order{Spec: json.RawMessage(`{"Then":"hang"}`)}})
	w.tell(Message{Start: &Start{}})
	var begun, ended bool
	err := serve(t, w, Worker{Silence: time.Second, Generate: func(ctx context.Context, order json.RawMessage, emit func(json.RawMessage)) error {
		begun = true
		defer func() { ended = true }()
		return script(ctx, order, emit)
	}})
	if err == nil || !strings.Contains(err.Error(), "no message from the coordinator for 1s") || begun != ended {
		t.Errorf("silence later: %v; the generator has begun: %v, and ended: %v", err, begun, ended)
	}
}

func TestWorkerIsStopped(t *testing.T) {
	for why, want := range map[string]string{"": "", "three workers only": "the coordinator stopped the run: three workers only"} {
		w := newWire()
		w.tell(Message{Order: &Order{Spec: json.RawMessage(`{"Then":"hang"}`)}}) // waits for its start
		w.tell(Message{Stop: &Stop{Why: why}})
		got := ""
		if err := serve(t, w, Worker{Generate: script}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCarrierFails(t *testing.T) {
	w := newWire()
	w.err = errors.New("too large")
	if err := serve(t, w, Worker{Generate: script}); !errors.Is(err, w.err) {
		t.Errorf("got %v", err)
	}
}

// A worker begins at the agreed time, not before, and reports in order.
func TestWorkerBegins(t *testing.T) {
	w := newWire()
	w.tell(Message{Beat: &Beat{Seq: 7, Sent: 5}})
	w.tell(Message{Order: &Order{Spec: json.RawMessage(`{"Ticks":2}`)}})
	var (
		kinds []string
		at    int64
		late  int64
		done  sync.WaitGroup
	)
	done.Go(func() {
		for m := range w.out {
			switch {
			case m.Join != nil:
				kinds = append(kinds, "join")
			case m.Echo != nil:
				if m.Echo.Beat.Seq != 7 || m.Echo.Beat.Sent != 5 || m.Echo.Sent < m.Echo.Received {
					t.Errorf("echo %+v", m.Echo)
				}
				at = m.Echo.Sent + 30e6
			case m.Ready != nil:
				w.tell(Message{Start: &Start{At: at}})
				w.tell(Message{Start: &Start{At: at + 1e12}}) // ignored: a repeated Start
				kinds = append(kinds, "ready")
			case m.Began != nil:
				late = m.Began.At - at
				kinds = append(kinds, "began")
			case m.Report != nil:
				var e event
				if err := json.Unmarshal(m.Report.Event, &e); err != nil {
					t.Error(err)
				}
				if m.Report.At < at {
					t.Errorf("a report of before the start: %s", m.Report.Event)
				}
				kinds = append(kinds, "report")
				if e.Result != nil {
					w.tell(Message{Stop: &Stop{}})
					return
				}
			}
		}
	})
	if err := serve(t, w, Worker{ID: "w", Generate: script, Silence: patience}); err != nil {
		t.Error(err)
	}
	done.Wait()
	kinds = slices.Compact(kinds)
	if want := []string{"join", "ready", "began", "report"}; !slices.Equal(kinds, want) {
		t.Errorf("got %q, want %q", kinds, want)
	}
	if late < 0 {
		t.Errorf("it began %d ns before the agreed time", -late)
	}
}

// sent is a Carrier that records messages by worker.
type sent map[string][]*Message

func (s sent) Send(worker string, m *Message) error {
	s[worker] = append(s[worker], m)
	return nil
}

func (sent) Inbox() <-chan *Message { return nil }

func TestJoin(t *testing.T) {
	out := sent{}
	c := &coordinator{plan: plan(t, orders{}, orders{}, orders{}), carrier: out, clock: newClock(), members: make([]*member, 3), byID: map[string]*member{}, refused: map[string]bool{}}
	join := func(id string, index, version int) {
		t.Helper()
		if err := c.take(&Message{From: id, Join: &Join{Protocol: version, Index: index, Host: "h", PID: 1}, Arrived: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	holders := func() (ids []string) {
		for _, w := range c.members {
			id := ""
			if w != nil {
				id = w.id
			}
			ids = append(ids, id)
		}
		return ids
	}
	join("a", 1, protocol)
	join("a", 1, protocol) // repeated
	join("old", 0, protocol-1)
	join("old", 0, protocol-1) // repeated before it received the refusal
	join("far", 3, protocol)
	join("b", -1, protocol)
	join("c", 1, protocol) // a new pod of Kubernetes
	if got := holders(); !slices.Equal(got, []string{"b", "c", ""}) {
		t.Errorf("shares are with %q", got)
	}
	if err := c.take(&Message{From: "a", Gone: &Gone{"it was replaced"}, Arrived: time.Now()}); err != nil {
		t.Errorf("the end of a worker that was replaced: %v", err)
	}
	if err := c.take(&Message{From: "x", Gone: &Gone{"exit status 1"}, Arrived: time.Now()}); err == nil {
		t.Error("a worker ended before it joined, and the coordinator still waits")
	}
	join("d", -1, protocol)
	join("e", -1, protocol)
	c.phase = preparing
	join("f", -1, protocol)
	if got := holders(); !slices.Equal(got, []string{"b", "c", "d"}) {
		t.Errorf("shares are with %q", got)
	}
	for id, want := range map[string]string{
		"old": "run the same build everywhere", "far": "share 3 of 3", "a": "another worker has taken share 1",
		"e": "3 workers already", "f": "already begun",
	} {
		if len(out[id]) == 0 || out[id][0].Stop == nil || !strings.Contains(out[id][0].Stop.Why, want) {
			t.Errorf("%s received %+v, want %q", id, out[id], want)
		}
	}
	if len(c.notes) != 5 {
		t.Errorf("notes %q", c.notes)
	}
}
