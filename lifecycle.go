package redline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/http1"
	"github.com/redline-go/redline/internal/transport"
)

const (
	// shutdownPoll is how often Shutdown looks whether the last connection is
	// gone.
	shutdownPoll = 5 * time.Millisecond
	// shutdownSweep is how often it closes idle connections, and how long it
	// waits for those that are busy to be looked at.
	shutdownSweep = 100 * time.Millisecond
	// shutdownFresh is how long a connection that was just accepted may take to
	// send its first request before it counts as idle: its client was not
	// refused, and should not be cut off.
	shutdownFresh = 2 * time.Second
)

// Shutdown ends the server gracefully: no connection is accepted any more, idle
// ones are closed, exchanges in progress end and close theirs; streams are told
// by [Server.Stopping]. When ctx is done first, what is left is cut and its error
// returned. Hijacked connections are not touched.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.mu.Lock()
	hooks := s.onShutdown
	s.mu.Unlock()
	for _, f := range hooks {
		go f()
	}
	t := s.transport()
	if t == nil {
		s.refuseStart()
		return nil
	}
	t.StopAccepting()
	tick := time.NewTicker(shutdownPoll)
	defer tick.Stop()
	began := time.Now()
	var swept time.Time
	for t.Stats().Open > 0 {
		if now := time.Now(); now.Sub(swept) >= shutdownSweep {
			swept = now
			sweep(ctx, t, now.Sub(began) >= shutdownFresh)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("shut down with %d connections open: %w", t.Stats().Open, ctx.Err()), s.Close())
		case <-tick.C:
		}
	}
	return s.Close()
}

// sweep closes the connections that are idle, those that have not had a request
// yet only if fresh is set.
func sweep(ctx context.Context, t transport.Transport, fresh bool) {
	ctx, cancel := context.WithTimeout(ctx, shutdownSweep)
	defer cancel()
	t.Each(func(session transport.Session, _ *buf.Queue) error {
		if h := session.(*http1.Session); h.Idle() && (fresh || !h.Fresh()) {
			return transport.ErrClosed
		}
		return nil
	}, ctx.Done())
}

// Stopping returns a channel that is closed when Shutdown or Close is called. A
// [Stream] that would go on for ever ends when it is: Shutdown waits for it.
func (s *Server) Stopping() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = make(chan struct{})
		if s.stopping.Load() {
			close(s.stopped)
		}
	}
	return s.stopped
}

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Swap(true) {
		return
	}
	if s.stopped != nil {
		close(s.stopped)
	}
	for _, l := range s.given {
		l.Close() // what is closed already says so, which is no news
	}
}

// Close ends the server at once: listeners and connections are closed, and the
// contexts of exchanges in progress cancelled. It does not wait for handlers.
func (s *Server) Close() error {
	s.stop()
	t := s.transport()
	s.refuseStart()
	if t == nil {
		return nil
	}
	var err error
	s.closing.Do(func() { err = t.Close() })
	return err
}

func (s *Server) transport() transport.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t
}

func (s *Server) refuseStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// RegisterOnShutdown adds a function that Shutdown calls, on a goroutine of its
// own: to tell hijacked connections that it is time to end. Shutdown does not
// wait for it.
func (s *Server) RegisterOnShutdown(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onShutdown = append(s.onShutdown, f)
}

// SetKeepAlivesEnabled says whether connections may be used for more than one
// request; they may unless this says otherwise.
//
// When they may not, idle ones are closed, soon after.
func (s *Server) SetKeepAlivesEnabled(v bool) {
	s.noKeepAlive.Store(!v)
	if t := s.transport(); t != nil && !v {
		go sweep(context.Background(), t, true) // it ends by itself, and the caller may be on a loop
	}
}

// closesConns reports whether answers are to close their connections.
func (s *Server) closesConns() bool { return s.stopping.Load() || s.noKeepAlive.Load() }
