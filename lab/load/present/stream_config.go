package present

import (
	"fmt"
	"strings"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// StreamConfig is what was asked of subscribers.
type StreamConfig struct {
	Format string   `json:"format"`                  // see listen.Config, as the others
	Limit  int      `json:"limit,omitempty"`         // bytes of a record
	Stamp  string   `json:"stamp,omitempty"`         // where in an event the time is at which it was sent
	Unit   string   `json:"unit,omitempty"`          // of that time
	ID     string   `json:"id,omitempty"`            // where in an event its number is
	Retry  *float64 `json:"retry_seconds,omitempty"` // until a subscriber comes back; absent: it stays away
	Stall  float64  `json:"stall_seconds,omitempty"` // without a byte, after which it gives its connection up
	Ends   bool     `json:"ends,omitempty"`          // a stream that ends in order is no error
	AnyID  bool     `json:"-"`                       // ID is where ids usually are, and nobody said that there are any
}

// StreamConfigOf is what a generator is told of subscribers, in a document's units.
func StreamConfigOf(c *spec.Subscribe) StreamConfig {
	s := StreamConfig{Format: c.Format, Limit: c.Limit, Stamp: c.Stamp, Unit: c.Unit, ID: c.ID, Stall: c.Stall.Seconds(), Ends: c.Ends}
	if c.Retry != spec.NeverRetry {
		seconds := c.Retry.Seconds()
		s.Retry = &seconds
	}
	return s
}

// where says in words what a source names, see sse.ParseSource.
func where(source string) string {
	if field, ok := strings.CutPrefix(source, "@"); ok {
		return "a number in the field " + field
	}
	return "a number under the key " + source
}

// seenGates fail when no event had what the command line says that events have:
// nothing of them could be counted by it.
func (s *Stream) seenGates() (gates []results.Gate) {
	add := func(name, source string, n uint64) {
		gates = append(gates, results.Gate{
			Name: name, Passed: n > 0 || s.Events == 0, Value: float64(n), Limit: 1,
			Text: fmt.Sprintf("none of %d events has %s: see --%s", s.Events, where(source), name),
		})
	}
	if s.Config.ID != "" && !s.Config.AnyID {
		add("ids", s.Config.ID, s.Numbered)
	}
	if s.Config.Stamp != "" {
		add("stamp", s.Config.Stamp, s.Stamped)
	}
	return gates
}

// seenNotes say that some events had not what others had.
func (s *Stream) seenNotes() (notes []string) {
	add := func(source string, n uint64, what string) {
		if source != "" && n > 0 && n < s.Events {
			notes = append(notes, fmt.Sprintf("%d of %d events had not %s: %s", s.Events-n, s.Events, where(source), what))
		}
	}
	add(s.Config.ID, s.Numbered, "missed and duplicated ids are those of the others")
	add(s.Config.Stamp, s.Stamped, "delays are those of the others")
	return notes
}

// ids says what came of counting by them.
func (s *Stream) ids() string {
	if s.Numbered == 0 {
		return "none of the events had " + where(s.Config.ID) + ": what was missed is not known"
	}
	return fmt.Sprintf("%d missed, %d duplicated", s.Missed, s.Duplicated)
}
