package memory

import (
	"context"

	"github.com/redline-go/redline/push"
)

// Watch implements push.Watcher. What f is told waits in memory until it has been.
func (r *Registry) Watch(ctx context.Context, f func(push.Change)) error {
	w := &watcher{ready: make(chan struct{}, 1)}
	r.mu.Lock()
	r.watchers[w] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, w)
	}()
	f(push.Change{Missed: true})
	for {
		select {
		case <-w.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.mu.Lock()
		next := w.waiting
		w.waiting = nil
		r.mu.Unlock()
		for _, c := range next {
			f(c)
		}
	}
}

// A watcher has changes that it has yet to be told.
type watcher struct {
	waiting []push.Change
	ready   chan struct{} // of capacity 1
}

// tell gives a change to all who watch. The lock is held.
func (r *Registry) tell(c push.Change) {
	if len(c.Joined)+len(c.Left) == 0 && !c.Lost {
		return
	}
	for w := range r.watchers {
		w.waiting = append(w.waiting, c)
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
}

// reap forgets the nodes whose lease has ended. The lock is held.
func (r *Registry) reap() {
	now := r.now()
	for name, n := range r.nodes {
		if !now.Before(n.until) {
			delete(r.nodes, name)
			r.tell(push.Change{Node: name, Lost: true})
		}
	}
}
