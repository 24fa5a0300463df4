package cputime

import (
	"sync"
	"time"
)

// Track records the clocks of processes over time: a goroutine reads them periodically, so
// that their usage in a past interval can be computed later. It is safe for concurrent use.
type Track struct {
	mu     sync.Mutex
	read   func() (Time, error)
	points []point // by time; at least one
	err    error   // of the last reading, after which reading stops

	of    *Processes
	stop  chan struct{}
	ended chan struct{}
}

// point is a reading.
type point struct {
	at time.Time
	Time
}

// Follow starts to read the clocks of processes, as [Open] does, at the given interval. The
// caller must call Stop.
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

// take reads the clocks now. The caller holds the lock.
func (t *Track) take() {
	if t.err != nil {
		return
	}
	now, err := t.read()
	if t.err = err; err == nil {
		t.points = append(t.points, point{time.Now(), now})
	}
}

// Stop ends reading.
func (t *Track) Stop() {
	close(t.stop)
	<-t.ended
	t.of.Close()
}

// Gone lists the processes that have ended. Their clocks no longer change.
func (t *Track) Gone() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of.Gone()
}

// Between returns the CPU time that the processes used between two times: user and system
// seconds as in [Split], and for how many seconds of the interval it is known. Time between
// two readings is divided evenly; time before the first reading and in the future is
// unknown. The error is that of a reading, if the interval extends beyond the last
// successful one.
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

// at returns the clocks at a time, or at the nearest known one.
func (t *Track) at(moment time.Time) point {
	i := len(t.points) - 1
	for i > 0 && t.points[i].at.After(moment) { // most calls are for recent times
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
