package redline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

const (
	// shutdownPoll is how often Shutdown checks whether the last connection is gone.
	shutdownPoll = 5 * time.Millisecond
	// shutdownSweep is how often it closes idle connections, and how long it waits to
	// inspect busy ones.
	shutdownSweep = 100 * time.Millisecond
	// shutdownFresh is how long a newly accepted connection may take to send its first
	// request before it counts as idle: its client was accepted and should not be cut off.
	// The value is net/http's.
	shutdownFresh = 5 * time.Second
)

// Shutdown ends the server gracefully: it accepts no more connections, closes idle ones,
// and lets exchanges in progress finish and close theirs; [Server.Stopping] notifies
// streams. Clients that have connected but not sent a request have five seconds to send
// one; those of HTTP/2 learn at once, by GOAWAY, which requests were not processed. If ctx is done first, the remaining connections are cut and its error is returned,
// wrapped. Hijacked connections are not touched.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	t := s.transport()
	if t != nil {
		t.StopAccepting()
	}
	s.mu.Lock()
	hooks := s.onShutdown
	s.mu.Unlock()
	for _, f := range hooks {
		go f()
	}
	if t == nil {
		return nil // and there will not be one
	}
	tick := time.NewTicker(shutdownPoll)
	defer tick.Stop()
	began := time.Now()
	var swept time.Time
	for t.Stats().Open > 0 {
		if now := time.Now(); now.Sub(swept) >= shutdownSweep {
			swept = now
			quick, cancel := context.WithTimeout(ctx, shutdownSweep)
			sweep(quick, t, now.Sub(began) >= shutdownFresh)
			cancel()
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("shut down with %d connections open: %w", t.Stats().Open, ctx.Err()), s.Close())
		case <-tick.C:
		}
	}
	return s.Close()
}

// sweep closes idle connections; those that have not had a request yet only if fresh is
// set. Those that it has not come to when ctx is done stay open.
func sweep(ctx context.Context, t transport.Transport, fresh bool) {
	t.Each(func(c transport.Session, out *buf.Queue) error {
		return c.(session).Quit(fresh, out)
	}, ctx.Done())
}

// closeIdle closes idle connections while none may be kept. A sweep does not visit a connection
// whose answer was sent as one to be kept, if the goroutine that has sent it has not returned it to
// its loop yet: one of those that follow within two minutes finds it. A later call continues in its place.
func (s *Server) closeIdle(t transport.Transport) {
	turn := s.idleSweeps.Add(1)
	sweep(context.Background(), t, true)
	for pause := shutdownSweep; pause < time.Minute; pause *= 2 {
		select {
		case <-s.Stopping():
			return
		case <-time.After(pause):
		}
		if s.idleSweeps.Load() != turn || !s.noKeepAlive.Load() || t.Stats().Open == 0 {
			return
		}
		sweep(context.Background(), t, false)
	}
}
