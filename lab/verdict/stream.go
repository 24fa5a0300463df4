package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// The limits of the read lag of subscribers, which is added to the delays of their events.
const (
	readShare = 0.10            // share of the median delay
	readFloor = 100.0           // microseconds that are always allowed
	readFree  = 100 * readFloor // microseconds, if no delay is known
)

// ReadLag passes if the generator read events soon after they had arrived. lag is the 99th
// percentile of its lateness and delay the median delay of events, in microseconds; nil if
// unknown.
func ReadLag(lag, delay *float64) results.Gate {
	limit, of := readFree, "by which gaps between events may be wrong"
	if delay != nil {
		limit, of = max(readShare**delay, readFloor), "more than a tenth of the median delay"
	}
	g := results.Gate{Name: "read lag", Passed: true, Limit: limit, Spoils: []results.Figure{results.FigureLatency}}
	if lag != nil {
		g.Value, g.Passed = *lag, *lag <= limit
		g.Text = fmt.Sprintf("1 %% of the events were read %s or more after the last look at their socket, %s: delays may be the generator's",
			report.Micros(*lag, " "), of)
	}
	return g
}
