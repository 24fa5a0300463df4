package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// A Generator makes load as spec says and reports events, as load.Run does: it
// emits {"connected":true} when it could begin and begins when emit returns,
// then {"window":true}, ticks and a result. It ends soon after ctx does.
type Generator func(ctx context.Context, order json.RawMessage, emit func(event json.RawMessage)) error

// Worker is one process of a fleet.
type Worker struct {
	ID       string // among the workers of the run; a carrier that knows it may ignore this
	Index    int    // of the share it wants to have; negative: any
	Host     string // what it is on, in words; empty: the host's name
	Generate Generator

	Patience time.Duration // for the coordinator's first message; 0 takes two minutes
	Silence  time.Duration // between two of them, in which this process ran; 0 takes ten seconds
}

const (
	joinEvery = 250 * time.Millisecond
	endWithin = 5 * time.Second // of a generator, once its context ended
	queued    = 256             // reports that wait for the carrier
)

// work is a Worker at work.
type work struct {
	*Worker
	clock clock
	wire  Wire
	out   chan *Message
	start chan int64 // the time to begin, on this clock

	watched presence
	heard   time.Duration      // last, in that
	cut     context.CancelFunc // ends the generator
	joined  bool               // the coordinator was heard
	ordered bool
	dropped uint64 // owned by the generator
}

// Work carries out what the coordinator orders, and returns when that is done,
// or why it could not be. The generator is at its end then, unless it does not
// end within five seconds, which the error says.
func (w *Worker) Work(ctx context.Context, wire Wire) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := &work{
		Worker: w, clock: newClock(), wire: wire, watched: presence{every: joinEvery},
		out: make(chan *Message, queued), start: make(chan int64, 1),
	}
	go k.post(ctx, cancel)
	ended := make(chan error, 1)
	generating, end := context.WithCancel(ctx)
	defer end()
	k.cut = end
	err := k.loop(ctx, generating, ended)
	cancel(err)
	if !k.ordered {
		return err
	}
	select {
	case <-ended:
	case <-time.After(endWithin):
		err = errors.Join(err, fmt.Errorf("the generator still runs %v after it was told to end", endWithin))
	}
	return err
}

// post sends what the generator reports, so that it need not wait for the
// carrier.
func (k *work) post(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-k.out:
			if err := k.send(m); err != nil {
				// Too large, for instance; the reason itself is not.
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

// loop reads what the coordinator sends. ended gets the generator's error, and
// still holds it, or is to hold it, when loop returns.
func (k *work) loop(ctx, generating context.Context, ended chan error) error {
	tick := time.NewTicker(joinEvery)
	defer tick.Stop()
	k.watched.look(time.Now())
	if err := k.join(); err != nil {
		return err
	}
	var (
		result chan error // ended, until it was received from
		failed error      // the generator
	)
	for {
		select {
		case <-ctx.Done():
			cause := context.Cause(ctx)
			// So that nobody has to find out by the silence. That it cannot be sent is no news.
			_ = k.send(&Message{Gone: &Gone{fmt.Sprintf("it was stopped: %v", cause)}})
			return cause
		case m, ok := <-k.wire.Inbox():
			if !ok {
				return errors.New("the coordinator is gone")
			}
			k.heard, k.joined = k.watched.now(), true
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
			result = make(chan error) // that is done: only Stop remains to come
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

// join tells the coordinator of this worker. A coordinator that is not there yet
// does not hear it, so it is said again.
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

// checkCoordinator says so again, or finds out that nobody is there.
func (k *work) checkCoordinator() error {
	limit, what := k.Silence, "not heard from the coordinator"
	if limit == 0 {
		limit = 10 * time.Second
	}
	if !k.joined {
		limit, what = k.Patience, "no coordinator heard"
		if limit == 0 {
			limit = 2 * time.Minute
		}
	}
	if k.watched.look(time.Now())-k.heard > limit {
		return fmt.Errorf("%s for %v", what, limit)
	}
	if !k.joined {
		return k.join()
	}
	return nil
}

// handle does what a message says.
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
		default: // said twice
		}
	}
	return nil
}

// emit is called by the generator.
func (k *work) emit(ctx, generating context.Context, raw json.RawMessage) {
	var e struct { // a tick is not taken apart here: the generator waits
		Connected bool            `json:"connected"`
		Tick      json.RawMessage `json:"tick"`
		Error     string          `json:"error"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		k.queue(ctx, &Message{Gone: &Gone{fmt.Sprintf("its generator emitted what is no event: %v", err)}})
		return
	}
	switch {
	case e.Connected:
		k.queue(ctx, &Message{Ready: &Ready{}})
		k.begin(ctx, generating)
	case e.Tick != nil:
		select {
		case k.out <- k.report(raw):
		default: // the load matters more than the picture of it
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

// queue waits for a place in the queue.
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
	// Sleeping overshoots by a millisecond; the last two are waited for awake.
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
