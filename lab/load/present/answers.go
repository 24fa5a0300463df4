package present

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/report"
)

// AnswersText says which statuses the answers had, and how large the right ones were; empty if that is
// not known.
func (d *Document) AnswersText() string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(d.Statuses)) {
		parts = append(parts, fmt.Sprintf("%d of status %s", d.Statuses[status], status))
	}
	text := strings.Join(parts, ", ")
	if b := d.Bodies; b != nil {
		text += "; bodies of " + bytesBetween(b.Min, b.Max)
	}
	return text
}

func bytesBetween(least, most int64) string {
	if least == most {
		return fmt.Sprintf("%d bytes", least)
	}
	return fmt.Sprintf("%d to %d bytes", least, most)
}

// noteVarying warns if the same GET had right answers of several sizes: some may be error pages.
func (d *Document) noteVarying() {
	b := d.Bodies
	switch {
	case b == nil || d.Config.Scenario != "" || d.Config.Method != "GET":
	case b.Min == b.Max && b.Differed > 0:
		d.Notes = append(d.Notes, fmt.Sprintf("the same request had right answers of different content and the same size: %d of the %d of which the first 4 KiB were compared. They may have a time or a number in them, and they may be errors: compare them with --check 'body contains ...'",
			b.Differed, b.Compared))
	case b.Min != b.Max:
		d.Notes = append(d.Notes, fmt.Sprintf("the same request had right answers of %s: if they are to be the same, some may be errors; compare them with --check 'body contains ...'",
			bytesBetween(b.Min, b.Max)))
	}
}

// muchWaited is the share of the arrivals that may wait for a connection without a note.
const muchWaited = 0.01

// noteWaited says that arrivals waited for a connection, if their number was not asked for and there
// were no more: the gates do not count that against the run.
func (d *Document) noteWaited() {
	o, c := d.Open, d.Config
	if o == nil || !c.Unasked || o.Due == 0 || c.Most > 0 && d.Connects.Made < uint64(c.Most) {
		return
	}
	if share := float64(o.Waited) / float64(o.Due); share > muchWaited {
		what := "connections"
		if c.HTTP2 {
			what = "streams"
		}
		d.Notes = append(d.Notes, fmt.Sprintf("%s of the arrivals waited for one of the %d %s, which is part of the response times, as for users who share them; give the load more with -c",
			report.Percent(share), max(c.Connections, c.Most)*max(c.Streams, 1), what))
	}
}

// muchAfter is the share of the latencies that the time series may lack without a note.
const muchAfter = 0.01

// noteAfter says that the time series lacks what came after the window: the latencies of an open loop
// are those of all arrivals due in it.
func (d *Document) noteAfter() {
	if d.Open == nil || d.Latency.Count == 0 {
		return
	}
	var within uint64
	for i := range d.Series {
		if p := &d.Series[i]; p.T > 0 {
			for _, h := range p.Heat {
				within += h[1]
			}
		}
	}
	if share := 1 - float64(within)/float64(d.Latency.Count); within > 0 && share > muchAfter {
		d.Notes = append(d.Notes, fmt.Sprintf("%s of the latencies are of requests that were answered after the window, or never: the charts over time end before, and do not show them", report.Percent(share)))
	}
}
