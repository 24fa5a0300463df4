package command

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/oom"
	"github.com/redline-go/redline/lab/watch"
	watching "github.com/redline-go/redline/lab/watch/command"
)

const (
	lookEvery   = 50 * time.Millisecond  // at the group
	sampleEvery = 100 * time.Millisecond // of the watch
	mostSamples = 50_000                 // kept: more than an hour
)

// stopAt returns the resident memory at which redline ends a server that no group bounds.
func stopAt(goLimit int64) int64 { return 2 * goLimit }

// monitor looks at the server while it is loaded: at the group twenty times a second, and with the
// samplers of a watch.
type monitor struct {
	subject *subject
	began   time.Time
	over    chan struct{} // closed when the server died or was stopped
	wait    sync.WaitGroup
	stop    context.CancelFunc

	mu      sync.Mutex
	samples []oom.Sample
	missing []string
	members []oom.Process // at the last look at which none was missing
	kills   int           // since the group was made
	at      time.Time     // when over was closed
	stopped bool
}

// newMonitor begins to look. The caller calls close.
func newMonitor(ctx context.Context, s *subject) *monitor {
	ctx, stop := context.WithCancel(ctx)
	m := &monitor{subject: s, began: time.Now(), over: make(chan struct{}), stop: stop, members: s.members()}
	m.wait.Go(func() { m.look(ctx) })
	m.wait.Go(func() { m.watch(ctx) })
	return m
}

// since returns the seconds since the monitor began.
func (m *monitor) since(at time.Time) float64 { return at.Sub(m.began).Seconds() }

// look looks at the group until the server has died.
func (m *monitor) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !m.once() {
		select {
		case <-ctx.Done():
			return
		case <-m.subject.child.Done():
		case <-tick.C:
		}
	}
	close(m.over)
}

// once looks once, and reports whether the server has died.
func (m *monitor) once() bool {
	s := m.subject
	now := time.Now()
	members := s.members()
	var used *float64
	kills, resident := 0, int64(0)
	if s.group != nil {
		if n, err := s.group.Used(); err == nil {
			used = new(float64(n))
		}
		n, err := s.group.Kills()
		if err != nil {
			m.miss(err.Error())
		}
		kills = n
	}
	for _, p := range members {
		resident += p.RSS
	}
	ended := false
	select {
	case <-s.child.Done():
		ended = true
	default:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if kills > m.kills || ended {
		m.kills, m.at = kills, now
		return true
	}
	m.members = members
	m.add(oom.Sample{T: m.since(now), State: oom.State{Group: used, RSS: new(float64(resident))}})
	if s.group == nil && resident > stopAt(s.run.GoLimit) {
		m.stopped, m.at = true, now
		return true
	}
	return false
}

// watch takes the samples of the runtime.
func (m *monitor) watch(ctx context.Context) {
	samplers, err := watching.Open(ctx, watching.Options{PID: m.subject.child.PID(), NoBPF: true})
	if err != nil {
		m.miss(fmt.Sprintf("the runtime of the program: %v", err))
		return
	}
	defer func() {
		for _, s := range samplers {
			if err := s.Close(); err != nil {
				m.miss(err.Error())
			}
		}
	}()
	w, err := watch.New(watch.Options{Every: sampleEvery, Samplers: samplers[:1], Cost: cputime.OfThread}, func(e watch.Event) error {
		switch {
		case e.Sample != nil:
			m.take(e.Sample)
		case e.Missing != nil:
			m.miss(e.Missing.Source + ": " + e.Missing.Reason)
		}
		return nil
	})
	var seen watch.Summary
	if err == nil {
		seen, err = w.Run(ctx)
	}
	switch {
	case err != nil:
		m.miss(err.Error())
	case seen.Sparse():
		m.miss("the runtime of the program: " + seen.Taken())
	}
}

// take keeps what a sample says of the runtime.
func (m *monitor) take(s *watch.Sample) {
	of := func(values map[string]float64, figure string) *float64 {
		if v, ok := values[figure]; ok {
			return &v
		}
		return nil
	}
	one := oom.Sample{
		T:         m.since(time.Now()),
		State:     oom.State{HeapLive: of(s.Values, "heap_live_bytes"), HeapGoal: of(s.Values, "heap_goal_bytes")},
		GCSeconds: of(s.Totals, "gc_cpu"), GoSeconds: of(s.Totals, "go_cpu"),
	}
	if one.HeapLive != nil && *one.HeapLive == 0 {
		one.HeapLive = nil // there was no collection yet
	}
	if one.HeapLive == nil && one.GoSeconds == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(one)
}

// add keeps a sample; mu is held.
func (m *monitor) add(s oom.Sample) {
	if len(m.samples) < mostSamples {
		m.samples = append(m.samples, s)
	}
}

func (m *monitor) miss(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.missing {
		if known == text {
			return
		}
	}
	m.missing = append(m.missing, text)
}

// died reports whether the server has died, or was stopped.
func (m *monitor) died() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// close ends the looking, and passes on what was seen.
func (m *monitor) close() {
	m.stop()
	m.wait.Wait()
	r := m.subject.run
	r.Samples = append(r.Samples, m.samples...)
	r.Missing = append(r.Missing, m.missing...)
	r.Members = m.members
}
