package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/redline-go/redline/lab/load"
)

// Generator generates the load of an order and reports events, as load.Run does: it emits
// {"connected":true} when it is ready, begins when emit returns, and then emits
// {"window":true}, ticks and a result. It must return soon after ctx ends.
type Generator func(ctx context.Context, order json.RawMessage, emit func(event json.RawMessage)) error

// Worker is one process of a fleet.
type Worker struct {
	ID       string // unique among the workers of the run; a carrier may replace it
	Index    int    // of the requested share; negative: any
	Host     string // name of its machine in messages; empty: the hostname
	Generate Generator

	Patience time.Duration // maximum wait for the coordinator's first message; 0: two minutes
	Silence  time.Duration // maximum time between two messages, while this process runs; 0: ten seconds
}

const (
	joinEvery = 250 * time.Millisecond
	endWithin = 5 * time.Second // timeout of a generator after the end of its context
	queued    = 256             // capacity of the queue of messages to the carrier
)

// work is the state of a running Worker.
type work struct {
	*Worker
	clock clock
	wire  Wire
	out   chan *Message
	start chan int64 // the time to begin, on this clock

	awake    awakeClock
	heard    time.Duration // time of the last message, on the axis of awake
	cut      func()        // ends the generator, and the second time its wait for answers
	cutAgain bool
	joined   bool // a message of the coordinator was received
	ordered  bool
	dropped  uint64 // owned by the generator
}

// Work carries out the coordinator's order. It returns nil when the coordinator has stopped
// the worker after a complete run, otherwise an error. The generator has ended then, unless
// it does not end within five seconds, which the error reports.
func (w *Worker) Work(ctx context.Context, wire Wire) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := &work{
		Worker: w, clock: newClock(), wire: wire, awake: awakeClock{every: joinEvery},
		out: make(chan *Message, queued), start: make(chan int64, 1),
	}
	go k.post(ctx, cancel)
	ended := make(chan error, 1)
	again := make(chan struct{})
	generating, end := context.WithCancel(load.WithAgain(ctx, again))
	defer end()
	k.cut = func() {
		if generating.Err() == nil {
			end()
		} else if !k.cutAgain {
			k.cutAgain = true
			close(again)
		}
	}
	err := k.loop(ctx, generating, ended)
	cancel(err)
	if !k.ordered {
		return err
	}
	select {
	case <-ended:
	case <-time.After(endWithin):
		err = errors.Join(err, fmt.Errorf("the generator did not end within %v", endWithin))
	}
	return err
}

// post sends the queued messages, so that the generator does not wait for the carrier.
func (k *work) post(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-k.out:
			if err := k.send(m); err != nil {
				// The message may be too large; a Gone with the reason is small.
				cancel(errors.Join(err, k.send(&Message{Gone: &Gone{err.Error()}})))
				return
			}
		}
	}
}

func (k *work) send(m *Message) error {
	m.From = k.ID
	if err := k.wire.Send(m); err != nil {
		return fmt.Errorf("send to the coordinator: %w", err)
	}
	return nil
}

// loop handles the coordinator's messages. ended receives the generator's error, and still
// holds it, or will, when loop returns.
func (k *work) loop(ctx, generating context.Context, ended chan error) error {
	tick := time.NewTicker(joinEvery)
	defer tick.Stop()
	k.awake.look(time.Now())
	if err := k.join(); err != nil {
		return err
	}
	var (
		result chan error // ended, until a value was received from it
		failed error      // of the generator
	)
	for {
		select {
		case <-ctx.Done():
			cause := context.Cause(ctx)
			// Report the end at once. The coordinator may be gone, so ignore the error.
			_ = k.send(&Message{Gone: &Gone{fmt.Sprintf("it was stopped: %v", cause)}})
			return cause
		case m, ok := <-k.wire.Inbox():
			if !ok {
				return errors.New("the coordinator is gone")
			}
			k.heard, k.joined = k.awake.now(), true
			if m.Stop != nil {
				return errors.Join(failed, stopped(m.Stop))
			}
			if err := k.handle(ctx, generating, m, ended); err != nil {
				return err
			}
			if k.ordered && result == nil {
				result = ended
			}
		case err := <-result:
			ended <- err // for Work
			if err != nil {
				failed = fmt.Errorf("generator: %w", err)
				k.queue(ctx, &Message{Gone: &Gone{failed.Error()}}) // after its reports
			}
			result = make(chan error) // never ready: only Stop is still expected
		case <-tick.C:
			if err := k.checkCoordinator(); err != nil {
				return err
			}
		}
	}
}

func stopped(s *Stop) error {
	if s.Why == "" {
		return nil
	}
	return fmt.Errorf("the coordinator stopped the run: %s", s.Why)
}

// join sends Join. It is repeated, because the coordinator may not have started yet.
func (k *work) join() error {
	host := k.Host
	if host == "" {
		var err error
		if host, err = os.Hostname(); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	return k.send(&Message{Join: &Join{Protocol: protocol, Index: k.Index, Host: host, PID: os.Getpid()}})
}

// checkCoordinator returns an error if the coordinator is silent for too long, and otherwise
// repeats Join until the first message.
func (k *work) checkCoordinator() error {
	limit, what := k.Silence, "no message from the coordinator"
	if limit == 0 {
		limit = 10 * time.Second
	}
	if !k.joined {
		limit, what = k.Patience, "no answer from a coordinator"
		if limit == 0 {
			limit = 2 * time.Minute
		}
	}
	if k.awake.look(time.Now())-k.heard > limit {
		return fmt.Errorf("%s for %v", what, limit)
	}
	if !k.joined {
		return k.join()
	}
	return nil
}

// handle handles a message other than Stop.
func (k *work) handle(ctx, generating context.Context, m *Message, ended chan<- error) error {
	switch {
	case m.Beat != nil:
		return k.send(&Message{Echo: &Echo{Beat: *m.Beat, Received: k.clock.at(m.Arrived), Sent: k.clock.now()}})
	case m.Order != nil && !k.ordered:
		k.ordered = true
		go func() {
			ended <- k.Generate(generating, m.Order.Spec, func(e json.RawMessage) { k.emit(ctx, generating, e) })
		}()
	case m.Cut != nil:
		k.cut()
	case m.Start != nil:
		select {
		case k.start <- m.Start.At:
		default: // repeated
		}
	}
	return nil
}

// emit is called by the generator.
func (k *work) emit(ctx, generating context.Context, raw json.RawMessage) {
	var e struct { // the tick is not parsed, because the generator waits
		Connected bool            `json:"connected"`
		Tick      json.RawMessage `json:"tick"`
		Error     string          `json:"error"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		k.queue(ctx, &Message{Gone: &Gone{fmt.Sprintf("its generator emitted an invalid event: %v", err)}})
		return
	}
	switch {
	case e.Connected:
		k.queue(ctx, &Message{Ready: &Ready{}})
		k.begin(ctx, generating)
	case e.Tick != nil:
		select {
		case k.out <- k.report(raw):
		default: // drop the tick rather than delay the load
			k.dropped++
		}
	case e.Error != "":
		// The generator returns it as well.
	default:
		k.queue(ctx, k.report(raw))
	}
}

func (k *work) report(raw json.RawMessage) *Message {
	return &Message{Report: &Report{At: k.clock.now(), Dropped: k.dropped, Event: raw}}
}

// queue adds a message to the queue, and waits while it is full.
func (k *work) queue(ctx context.Context, m *Message) {
	select {
	case k.out <- m:
	case <-ctx.Done():
	}
}

// begin waits for the agreed time.
func (k *work) begin(ctx, generating context.Context) {
	var at int64
	select {
	case <-generating.Done():
		return
	case at = <-k.start:
	}
	// A sleep may overshoot by a millisecond; poll during the last two.
	timer := time.NewTimer(k.clock.until(at) - 2*time.Millisecond)
	defer timer.Stop()
	select {
	case <-generating.Done():
		return
	case <-timer.C:
	}
	for k.clock.now() < at {
		runtime.Gosched()
	}
	k.queue(ctx, &Message{Began: &Began{At: k.clock.now()}})
}
