package cputime

import (
	"sync"
	"time"
)

// Track is the clocks of processes over time: a goroutine reads them again and
// again, so that what they used in a span that is over can be asked for later. It
// is safe for concurrent use.
type Track struct {
	mu     sync.Mutex
	read   func() (Time, error)
	points []point // by time; one at least
	err    error   // of the last reading, after which there are no more

	of    *Processes
	stop  chan struct{}
	ended chan struct{}
}

// point is a reading.
type point struct {
	at time.Time
	Time
}

// Follow begins to read the clocks of processes, as [Open] does, once in so long a
// time. The caller stops it.
func Follow(pids []int, every time.Duration) (*Track, error) {
	p, err := Open(pids)
	if err != nil {
		return nil, err
	}
	t := &Track{read: p.Read, of: p, stop: make(chan struct{}), ended: make(chan struct{})}
	if t.take(); t.err != nil {
		p.Close()
		return nil, t.err
	}
	go t.follow(every)
	return t, nil
}

func (t *Track) follow(every time.Duration) {
	defer close(t.ended)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
			t.mu.Lock()
			t.take()
			t.mu.Unlock()
		}
	}
}

// take reads the clocks now. Its caller has the lock.
func (t *Track) take() {
	if t.err != nil {
		return
	}
	now, err := t.read()
	if t.err = err; err == nil {
		t.points = append(t.points, point{time.Now(), now})
	}
}

// Stop ends it.
func (t *Track) Stop() {
	close(t.stop)
	<-t.ended
	t.of.Close()
}

// Gone lists the processes that have ended. Their clocks stand.
func (t *Track) Gone() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of.Gone()
}

// Between is what the processes used from one moment to another: user and system
// seconds as [Split] has them, and how many seconds of the span are known of. Time
// between two readings is divided evenly; what was before the first of them is not
// known, nor what is yet to come. The error is that of a reading, when the span
// goes beyond the last that there was.
func (t *Track) Between(from, to time.Time) (user, sys, total, known float64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to.After(t.points[len(t.points)-1].at) {
		if t.take(); t.err != nil {
			return 0, 0, 0, 0, t.err
		}
	}
	a, b := t.at(from), t.at(to)
	user, sys, total = Split(a.Time, b.Time)
	return user, sys, total, b.at.Sub(a.at).Seconds(), nil
}

// at is the clocks at a moment, or at the nearest that is known.
func (t *Track) at(moment time.Time) point {
	i := len(t.points) - 1
	for i > 0 && t.points[i].at.After(moment) { // most ask for what has just been
		i--
	}
	a := t.points[i]
	if i == len(t.points)-1 || !moment.After(a.at) {
		return a
	}
	b := t.points[i+1]
	share := float64(moment.Sub(a.at)) / float64(b.at.Sub(a.at))
	part := func(from, to int64) int64 { return from + int64(share*float64(to-from)) }
	return point{moment, Time{Total: part(a.Total, b.Total), User: part(a.User, b.User), Sys: part(a.Sys, b.Sys)}}
}
