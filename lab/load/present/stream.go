package present

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// Stream is what a run of subscribers has beside the rest of its Document, whose
// requests are events, and whose latency is the delay of events.
type Stream struct {
	Config StreamConfig `json:"config"`
	spec.Subscribed
	EventsPerSecond float64         `json:"events_per_second"`
	Gap             results.Latency `json:"gap"` // between two events of a subscriber
	Lag             results.Latency `json:"lag"` // upper bound on the time from readable to read
}

// fill takes the generator's result over.
func (s *Stream) fill(r *spec.Result) (err error) {
	s.Subscribed = *r.Listen
	s.EventsPerSecond = float64(r.Requests) / r.Seconds
	if s.Gap, err = results.ParseLatency(s.Subscribed.Gap); err != nil {
		return err
	}
	s.Lag, err = results.ParseLatency(s.Subscribed.Lag)
	s.Subscribed.Gap, s.Subscribed.Lag = "", ""
	return err
}

// figures are those that objectives know.
func (s *Stream) figures(delay results.Latency) *objective.Stream {
	return &objective.Stream{Delay: delay, Gap: s.Gap, Counts: map[string]uint64{
		"missed": s.Missed, "duplicated": s.Duplicated, "oversized": s.Oversized, "cut": s.Cut,
		"reconnects": s.Reconnects, "standing": uint64(s.Standing),
	}, Numbered: s.Numbered}
}

// gates are those of subscribers, which take the place of the closed loop's.
func (s *Stream) gates(d *Document, thresholds []objective.Objective) []results.Gate {
	events, want := s.Events, s.Subscribers-int(s.Retired)
	gates := []results.Gate{
		{Name: "events", Passed: events > 0, Value: float64(events), Limit: 1, Text: "not one event in the window"},
		verdict.Steal(d.Generator.StealRatio),
		verdict.Spare(d.Generator.CPUUtilisation),
		verdict.ReadLag(s.Lag.P99, d.Latency.P50),
		{
			Name: "clocks", Passed: s.Negative == 0, Value: float64(s.Negative),
			Text: fmt.Sprintf("%d events came before they were sent: the clocks of server and generator differ", s.Negative),
		},
	}
	gates = append(gates, verdict.Foreign(d.Generator.ForeignRatio, d.Seconds)...)
	gates = append(gates, s.seenGates()...)
	named := func(metrics ...string) bool {
		return slices.ContainsFunc(thresholds, func(o objective.Objective) bool { return slices.Contains(metrics, o.Metric) })
	}
	if !named("errors") {
		gates = append(gates, verdict.Errors(results.CountErrors(d.Errors), d.Errors))
	}
	if !named("standing", "reconnects") {
		gates = append(gates, results.Gate{
			Name: "standing", Passed: s.Standing >= want && s.Subscribers > int(s.Retired), Value: float64(s.Standing), Limit: float64(want),
			Text: fmt.Sprintf("%d of %d subscribers stood at the window's end", s.Standing, s.Subscribers),
		})
	}
	return gates
}

// stream is the part of a summary that requests have not.
func (s *summary) stream(d *Document) {
	t := d.Stream
	s.line("events", fmt.Sprintf("%s/s; %d in %s; %s/s in", report.PerSecond(t.EventsPerSecond), t.Events, report.Seconds(d.Seconds),
		report.Bytes(float64(d.BytesIn)/d.Seconds, " ")))
	text := fmt.Sprintf("%d, standing after %s; %d at the end, %d at least", t.Subscribers, report.Seconds(t.Connect), t.Standing, t.Lowest)
	if t.Retired > 0 {
		text += fmt.Sprintf("; %d left for good", t.Retired)
	}
	if t.Reconnects+t.Ends > 0 {
		text += fmt.Sprintf("; %d streams ended by the server, %d subscribers came back", t.Ends, t.Reconnects)
	}
	s.line("subscribers", text)
	if longest := t.Silence * 1e6; t.Quiet > 0 || longest >= t.Gap.MaxUs && t.Gap.Count > 0 {
		s.line("silence", fmt.Sprintf("%d subscribers had no event in the window; the longest silence at its end was %s. Silences that are longer than any gap are in the gaps, as lower bounds",
			t.Quiet, report.Seconds(t.Silence)))
	}
	if t.Config.ID != "" {
		s.line("ids", t.ids())
	}
	if t.Oversized+t.Cut > 0 || t.Endless > 0 {
		s.line("records", fmt.Sprintf("%d oversized, %d cut short; %d that were over the limit and had not ended", t.Oversized, t.Cut, t.Endless))
	}
	s.line("errors", errorsOf(d))
	s.WriteString("\n")
}

// memory is that of the generator. What it has anyway would be most of each of a few.
func (s *Stream) memory() string {
	text := "; RSS " + report.Bytes(float64(s.Memory), " ")
	if s.Subscribers >= 1000 {
		text += fmt.Sprintf(", %s a subscriber", report.Bytes(s.Each, " "))
	}
	return text
}

// errorsOf says how many there were, by kind.
func errorsOf(d *Document) string {
	n := results.CountErrors(d.Errors)
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%s)", n, results.ErrorKinds(d.Errors))
}

// streamHead names the columns that CSV has of subscribers.
var streamHead = []string{
	"standing", "bytes_in", "gap_p50_us", "gap_p99_us", "read_lag_p99_us", "missed", "duplicated", "reconnects",
}

// streamCells are a point's.
func streamCells(h *spec.Heard) []string {
	if h == nil {
		h = &spec.Heard{}
	}
	float := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	count := func(v uint64) string { return strconv.FormatUint(v, 10) }
	return []string{
		strconv.Itoa(h.Standing), count(h.BytesIn), float(h.GapP50), float(h.GapP99), float(h.LagP99),
		count(h.Missed), count(h.Duplicated), count(h.Reconnects),
	}
}

// streamFigures are those of a point on the live view.
func streamFigures(p *Point) []string {
	h := p.Stream
	return []string{
		"events " + report.PerSecond(p.Rate) + "/s", fmt.Sprintf("standing %d", h.Standing),
		"delay p99 " + report.Micros(p.P99Us, " "), "gap p99 " + report.Micros(h.GapP99, " "),
		fmt.Sprintf("missed %d", h.Missed), fmt.Sprintf("reconnects %d", h.Reconnects), "read lag " + report.Micros(h.LagP99, " "),
	}
}

// Standing says how many of the subscribers stand that are not all there yet.
func (l *Live) Standing(n int) {
	if l == nil {
		return
	}
	c := &l.doc.Config
	l.phase = fmt.Sprintf("connect: %d of %d", n, c.Connections*max(c.Streams, 1))
	l.draw()
}
