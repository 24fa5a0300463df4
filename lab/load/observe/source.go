package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/probe"
)

// Source provides the state of a server's runtime.
type Source interface {
	// Name is its name in results: control or pprof.
	Name() string
	// Snapshot queries the current state. An error does not end the source. The end of ctx
	// ends the call. Only one goroutine may call it at a time.
	Snapshot(ctx context.Context) (probe.Snapshot, error)
	// Every is the minimum interval between two queries that are not at an edge of the
	// window.
	Every() time.Duration
	// Close closes the source.
	Close() error
}

// Socket is a control socket.
type Socket struct {
	path string
	mu   sync.Mutex
	conn *probe.Control // nil if there is none
}

// OpenSocket connects to the control socket at path and makes one query. The snapshot has
// the name of the service and the profiles that it offers.
func OpenSocket(ctx context.Context, path string) (*Socket, probe.Snapshot, error) {
	s := &Socket{path: path}
	first, err := s.Snapshot(ctx)
	return s, first, err
}

// Name returns control.
func (s *Socket) Name() string { return "control" }

// Every returns 0: a snapshot costs the server a few microseconds.
func (s *Socket) Every() time.Duration { return 0 }

// Snapshot makes a query, over a new connection if the last one broke.
func (s *Socket) Snapshot(ctx context.Context) (probe.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		conn, err := probe.DialControl(s.path)
		if err != nil {
			return probe.Snapshot{}, err
		}
		s.conn = conn
	}
	conn := s.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the exchange
	defer stop()
	snapshot, err := conn.Snapshot()
	if err != nil {
		s.conn = nil
		if closed := conn.Close(); ctx.Err() == nil {
			err = errors.Join(err, closed)
		}
	}
	return snapshot, err
}

// Close closes the connection.
func (s *Socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}
