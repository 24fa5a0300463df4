package objective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

const ofStreams = "; subscribers also have delay.p99, gap.p99 and so on, missed, duplicated, oversized, cut, reconnects, lost or standing" + ofFlows

// Stream are the measurements that objectives of subscribers are compared with.
type Stream struct {
	Delay, Gap results.Latency   // from the server's stamp to the read; between two events of a subscriber
	Numbered   uint64            // events with an id, for which missed and duplicated are counted
	Counts     map[string]uint64 // missed, duplicated, oversized, cut, reconnects, standing
}

// streamCounts are the names in Stream.Counts.
var streamCounts = []string{"missed", "duplicated", "oversized", "cut", "reconnects", "standing", "lost"}

// cutStream removes the name of a stream's distribution from a metric.
func cutStream(metric string) (of, rest string) {
	for _, of := range []string{"delay", "gap", iteration} {
		if rest, ok := strings.CutPrefix(metric, of+"."); ok {
			return of, rest
		}
	}
	return "", metric
}

// Subscribers reports whether only subscribers have the figure of the objective.
func (o Objective) Subscribers() bool {
	return o.stream != "" && !o.Iterations() || slices.Contains(streamCounts, o.Metric)
}

// byID reports whether the figure is counted by the ids of events.
func (o Objective) byID() bool { return o.Metric == "missed" || o.Metric == "duplicated" }

// Needs reports what events need for the objective to be judged: a stamp, or an id.
func (o Objective) Needs() (stamp, id bool) { return o.stream == "delay", o.byID() }

// ofStream returns the figure of subscribers.
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

// samples describes how many samples there were.
func (o Objective) samples(f Figures) string {
	switch {
	case f.Stream != nil && o.stream == "delay":
		return fmt.Sprintf("%d events with a stamp", f.Stream.Delay.Count)
	case f.Stream != nil && o.stream == "gap":
		return fmt.Sprintf("%d gaps", f.Stream.Gap.Count)
	case f.Stream != nil && o.byID():
		return fmt.Sprintf("%d events with an id", f.Stream.Numbered)
	case o.Iterations():
		return fmt.Sprintf("%d iterations", f.Answered)
	}
	return fmt.Sprintf("%d answers", f.Answered)
}
