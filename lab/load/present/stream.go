package present

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
