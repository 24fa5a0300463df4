package redline

import (
	"context"
	"errors"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// A leaver is the answer to a client that leaves when it was asked something once.
type leaver struct {
	exchange.Held
	gone bool
}

func (l *leaver) Send([]byte) error {
	if l.gone {
		return exchange.ErrGone
	}
	l.gone = true
	return nil
}

func (l *leaver) Buffered() int {
	if l.gone {
		return 0
	}
	l.gone = true
	return 1
}

// TestDrainedOfNobody does not take what is dropped for what was sent.
func TestDrainedOfNobody(t *testing.T) {
	s := &Stream{held: new(leaver)}
	if err := s.Drain(context.Background(), 0); !errors.Is(err, ErrGone) {
		t.Errorf("Drain ends with %v", err)
	}
}
