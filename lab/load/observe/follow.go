package observe

import (
	"context"
	"errors"
	"time"

	"github.com/redline-go/redline/lab/probe"
)

// retry is the delay before a source that failed is asked again.
const retry = time.Second

// Moment is a point on the time axis of a load.
type Moment struct {
	T        float64 // seconds since the window began
	Answered uint64  // requests answered by then in the window
}

// Reading is a snapshot with its time.
type Reading struct {
	Moment
	At       time.Time // when it arrived
	Snapshot probe.Snapshot
}

// Follower queries a source. All of its methods must be called by one goroutine.
type Follower struct {
	source  Source
	ask     chan struct{}
	told    chan Reading // successful readings only
	failed  chan error
	end     context.CancelFunc
	done    chan struct{}
	pending *Moment // of a query without a reply so far
	due     time.Time
	misses  int
	why     error
}

// Follow starts a Follower. The end of ctx ends all waiting; [Follower.Close] must be
// called nevertheless.
func Follow(ctx context.Context, source Source) *Follower {
	f := &Follower{
		source: source, ask: make(chan struct{}, 1), told: make(chan Reading, 1), failed: make(chan error, 1), done: make(chan struct{}),
	}
	ctx, f.end = context.WithCancel(ctx)
	go f.work(ctx)
	return f
}

// work answers one query after the other.
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
			f.failed <- err // there is one query at a time, so there is room
			continue
		}
		f.told <- Reading{At: time.Now(), Snapshot: s}
	}
}

// Ask queries the state at a moment, unless the last query is too recent, and waits for the
// reply no longer than patience. The next call returns a later reply. At an edge of the
// window the source is queried regardless of the last query. Ask returns nil without a
// reply.
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

// collect receives the reply to the pending query.
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

// errLate is the reason for a query that was not answered.
var errLate = errors.New("no answer by the end of the load")

// Misses returns how many queries failed, and the reason of the last failure. Call it when
// the load has ended.
func (f *Follower) Misses() (n int, why error) {
	if f.pending != nil {
		return f.misses + 1, errLate
	}
	return f.misses, f.why
}

// Close ends a pending query. It does not close the source.
func (f *Follower) Close() {
	f.end()
	<-f.done
}
