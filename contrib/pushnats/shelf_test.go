package pushnats

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestShelf wants each message read once for all who ask at the same time or later, and what is held to be
// bounded.
func TestShelf(t *testing.T) {
	var s shelf
	var reads atomic.Int32
	load := func(seq uint64, data string) func() (*jetstream.RawStreamMsg, error) {
		return func() (*jetstream.RawStreamMsg, error) {
			reads.Add(1)
			return &jetstream.RawStreamMsg{Subject: "s", Sequence: seq, Data: []byte(data)}, nil
		}
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			for from := uint64(1); from <= 50; from++ {
				m, err := s.get(t.Context(), spot{"s", from}, load(from, "x"))
				if err != nil || m.Sequence != from {
					t.Errorf("from %d: %+v, %v", from, m, err)
				}
			}
		})
	}
	all.Wait()
	if n := reads.Load(); n != 50 {
		t.Errorf("50 messages were read %d times", n)
	}

	large := strings.Repeat("x", 1<<20)
	for from := range uint64(40) {
		if _, err := s.get(t.Context(), spot{"v", from}, load(from, large)); err != nil {
			t.Fatal(err)
		}
	}
	if s.bytes > shelfBytes || len(s.readings) != len(s.oldest) || len(s.oldest) < 10 {
		t.Errorf("it holds %d bytes: %d messages, %d in order", s.bytes, len(s.readings), len(s.oldest))
	}
	if s.clear(); s.bytes != 0 || len(s.readings) != 0 {
		t.Errorf("it holds %d bytes after the end of its epoch", s.bytes)
	}
}

// TestShelfErrors wants errors to be those of the one who met them: others read themselves.
func TestShelfErrors(t *testing.T) {
	var s shelf
	var all sync.WaitGroup
	load := func(err error) func() (*jetstream.RawStreamMsg, error) {
		return func() (*jetstream.RawStreamMsg, error) { return &jetstream.RawStreamMsg{}, err }
	}
	broken := errors.New("broken")
	if _, err := s.get(t.Context(), spot{"t", 1}, load(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := s.get(t.Context(), spot{"t", 1}, load(nil)); err != nil {
		t.Errorf("after an error of another: %v", err)
	}

	// One waits for a reading that fails, and reads itself.
	started, fail := make(chan struct{}), make(chan struct{})
	all.Go(func() {
		_, _ = s.get(t.Context(), spot{"u", 1}, func() (*jetstream.RawStreamMsg, error) {
			close(started)
			<-fail
			return nil, broken
		})
	})
	<-started
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.get(gone, spot{"u", 1}, load(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("who has left: %v", err)
	}
	all.Go(func() {
		if _, err := s.get(t.Context(), spot{"u", 1}, load(nil)); err != nil {
			t.Errorf("who has waited: %v", err)
		}
	})
	close(fail)
	all.Wait()
}
