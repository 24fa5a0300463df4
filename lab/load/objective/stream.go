package objective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

const ofStreams = "; of subscribers also delay.p99 or gap.p99 and their like, missed, duplicated, oversized, cut, reconnects or standing"

// Stream is what objectives on subscribers are held against.
type Stream struct {
	Delay, Gap results.Latency   // from a server's stamp to the read; between two events of a subscriber
	Numbered   uint64            // events by whose ids missed and duplicated are counted
	Counts     map[string]uint64 // missed, duplicated, oversized, cut, reconnects, standing
}

// streamCounts are the names in Stream.Counts.
var streamCounts = []string{"missed", "duplicated", "oversized", "cut", "reconnects", "standing"}

// cutStream takes the name of a stream's distribution off a metric.
func cutStream(metric string) (of, rest string) {
	for _, of := range []string{"delay", "gap"} {
		if rest, ok := strings.CutPrefix(metric, of+"."); ok {
			return of, rest
		}
	}
	return "", metric
}

// Subscribers reports whether the objective is about a figure that only subscribers
// have.
func (o Objective) Subscribers() bool {
	return o.stream != "" || slices.Contains(streamCounts, o.Metric)
}

// byID reports whether the figure is counted by the ids of events.
func (o Objective) byID() bool { return o.Metric == "missed" || o.Metric == "duplicated" }

// Needs says what the subscribers' events have to have, beside themselves, for the
// objective to be judged: a stamp, or an id.
func (o Objective) Needs() (stamp, id bool) { return o.stream == "delay", o.byID() }

// ofStream is the figure of subscribers.
func (o Objective) ofStream(s *Stream) (float64, bool) {
	switch {
	case s == nil:
		return 0, false
	case o.stream == "delay":
		return o.ofLatency(s.Delay, Figures{})
	case o.stream == "gap":
		return o.ofLatency(s.Gap, Figures{})
	case o.byID() && s.Numbered == 0:
		return 0, false
	}
	return float64(s.Counts[o.Metric]), true
}

// samples says how many there were.
func (o Objective) samples(f Figures) string {
	switch {
	case f.Stream != nil && o.stream == "delay":
		return fmt.Sprintf("%d events with a stamp", f.Stream.Delay.Count)
	case f.Stream != nil && o.stream == "gap":
		return fmt.Sprintf("%d gaps", f.Stream.Gap.Count)
	case f.Stream != nil && o.byID():
		return fmt.Sprintf("%d events with an id", f.Stream.Numbered)
	}
	return fmt.Sprintf("%d answers", f.Answered)
}
