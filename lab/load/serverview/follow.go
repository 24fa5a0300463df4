package serverview

import (
	"context"
	"errors"
	"time"

	"github.com/redline-go/redline/lab/probe"
)

// retry is how long a source that failed is left alone.
const retry = time.Second

// Moment is a place on the time axis of a load.
type Moment struct {
	T        float64 // seconds since the window began
	Answered uint64  // requests answered by then in the window
}

// Reading is a snapshot with its place.
type Reading struct {
	Moment
	At       time.Time // when it came
	Snapshot probe.Snapshot
}

// Follower asks a source. All its methods are called by one goroutine.
type Follower struct {
	source  Source
	ask     chan struct{}
	told    chan Reading // and nothing of those that failed
	failed  chan error
	end     context.CancelFunc
	done    chan struct{}
	pending *Moment // of a question that has no answer yet
	due     time.Time
	misses  int
	why     error
}

// Follow begins. The end of ctx ends all waiting; [Follower.Close] is called all
// the same.
func Follow(ctx context.Context, source Source) *Follower {
	f := &Follower{
		source: source, ask: make(chan struct{}, 1), told: make(chan Reading, 1), failed: make(chan error, 1), done: make(chan struct{}),
	}
	ctx, f.end = context.WithCancel(ctx)
	go f.work(ctx)
	return f
}

// work answers one question after the other.
func (f *Follower) work(ctx context.Context) {
	defer close(f.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.ask:
		}
		s, err := f.source.Snapshot(ctx)
		if err != nil {
			f.failed <- err // one question is under way at a time: there is room
			continue
		}
		f.told <- Reading{At: time.Now(), Snapshot: s}
	}
}

// Ask asks for the state at a moment, unless the source was asked too short a time
// ago, and waits for the answer no longer than patience. An answer that comes
// later is that of the next call. At an edge of the window the source is asked
// whenever it was asked last. It returns nil without an answer.
func (f *Follower) Ask(m Moment, edge bool, patience time.Duration) *Reading {
	r := f.collect(0)
	if r != nil && !edge {
		return r
	}
	if now := time.Now(); f.pending == nil && (edge || !now.Before(f.due)) {
		f.due = now.Add(f.source.Every())
		f.pending = &m
		f.ask <- struct{}{}
	}
	if next := f.collect(patience); next != nil {
		r = next
	}
	return r
}

// collect takes the answer to the question that is under way.
func (f *Follower) collect(patience time.Duration) *Reading {
	if f.pending == nil {
		return nil
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case r := <-f.told:
		return f.place(r)
	case err := <-f.failed:
		f.fail(err)
		return nil
	default:
	}
	if patience == 0 {
		return nil
	}
	select {
	case r := <-f.told:
		return f.place(r)
	case err := <-f.failed:
		f.fail(err)
	case <-wait.C:
	}
	return nil
}

func (f *Follower) place(r Reading) *Reading {
	r.Moment, f.pending = *f.pending, nil
	return &r
}

func (f *Follower) fail(err error) {
	f.pending = nil
	f.misses++
	f.why = err
	f.due = time.Now().Add(retry)
}

// errLate is why a question brought nothing that is not answered yet.
var errLate = errors.New("no answer by the end of the load")

// Misses is how many questions brought nothing, and why the last of them, when
// the load is over.
func (f *Follower) Misses() (n int, why error) {
	if f.pending != nil {
		return f.misses + 1, errLate
	}
	return f.misses, f.why
}

// Close ends what is under way. The source is its user's.
func (f *Follower) Close() {
	f.end()
	<-f.done
}
