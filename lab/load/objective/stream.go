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

// ofStream is the figure of subscribers.
func (o Objective) ofStream(s *Stream) (float64, bool) {
	switch {
	case s == nil:
		return 0, false
	case o.stream == "delay":
		return o.ofLatency(s.Delay, Figures{})
	case o.stream == "gap":
		return o.ofLatency(s.Gap, Figures{})
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
	}
	return fmt.Sprintf("%d answers", f.Answered)
}
