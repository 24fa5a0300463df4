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

// Stream holds the additional figures of a run of subscribers. In its Document, requests are
// events, and the latency is the delay of events.
type Stream struct {
	Config StreamConfig `json:"config"`
	spec.Subscribed
	EventsPerSecond float64         `json:"events_per_second"`
	Gap             results.Latency `json:"gap"`                  // between two events of a subscriber
	Lag             results.Latency `json:"lag"`                  // upper bound on the time from readable to read
	Publishing      *Publishing     `json:"publishing,omitempty"` // nil: something else publishes
}

// fill adds the generator's result.
func (s *Stream) fill(r *spec.Result) (err error) {
	s.Subscribed = *r.Listen
	s.EventsPerSecond = float64(r.Requests) / r.Seconds
	if s.Gap, err = results.ParseLatency(s.Subscribed.Gap); err != nil {
		return err
	}
	if s.Lag, err = results.ParseLatency(s.Subscribed.Lag); err != nil {
		return err
	}
	s.Subscribed.Gap, s.Subscribed.Lag = "", ""
	return s.fillPublishing()
}

// figures returns the figures for objectives.
func (s *Stream) figures(delay results.Latency) *objective.Stream {
	return &objective.Stream{Delay: delay, Gap: s.Gap, Counts: map[string]uint64{
		"missed": s.Missed, "duplicated": s.Duplicated, "oversized": s.Oversized, "cut": s.Cut,
		"reconnects": s.Reconnects, "standing": uint64(s.Standing), "lost": s.lost(),
	}, Numbered: s.Numbered}
}

// gates returns the gates of subscribers, which replace those of a closed loop.
func (s *Stream) gates(d *Document, r *spec.Result, thresholds []objective.Objective) []results.Gate {
	events, want := s.Events, s.Subscribers-int(s.Retired)
	gates := []results.Gate{
		{Name: "events", Passed: events > 0, Value: float64(events), Limit: 1, Text: "not one event in the window"},
		verdict.Steal(d.Generator.StealRatio, d.Seconds),
		verdict.Ran(r.Stalls, r.Stalled),
		verdict.Spare(d.Generator.CPUUtilisation),
		verdict.ReadLag(s.Lag.P99, d.Latency.P50),
		{
			Name: "clocks", Passed: s.Negative == 0, Value: float64(s.Negative),
			Text: fmt.Sprintf("%d events arrived before they were sent: the clocks of server and generator differ", s.Negative),
		},
	}
	gates = append(gates, verdict.Foreign(d.Generator.ForeignRatio, d.Seconds, true)...)
	gates = append(gates, s.seenGates()...)
	gates = append(gates, s.publishGates()...)
	named := func(metrics ...string) bool {
		return slices.ContainsFunc(thresholds, func(o objective.Objective) bool { return slices.Contains(metrics, o.Metric) })
	}
	if !named("errors") {
		gates = append(gates, verdict.Errors(results.CountErrors(d.Errors), d.Errors))
	}
	if !named("standing", "reconnects") && s.Config.Churn == 0 {
		gates = append(gates, results.Gate{
			Name: "standing", Passed: s.Standing >= want && s.Subscribers > int(s.Retired), Value: float64(s.Standing), Limit: float64(want),
			Text: fmt.Sprintf("%d of %d subscribers were connected at the end of the window", s.Standing, s.Subscribers),
		})
	}
	return gates
}

// stream writes the part of a summary that only subscribers have.
func (s *summary) stream(d *Document) {
	t := d.Stream
	s.line("events", fmt.Sprintf("%s/s; %d in %s; %s/s in", report.PerSecond(t.EventsPerSecond), t.Events, report.Seconds(d.Seconds),
		report.Bytes(float64(d.BytesIn)/d.Seconds, " ")))
	text := fmt.Sprintf("%d, connected after %s; %d at the end, %d at least", t.Subscribers, report.Seconds(t.Connect), t.Standing, t.Lowest)
	if t.Retired > 0 {
		text += fmt.Sprintf("; %d left permanently", t.Retired)
	}
	if t.Reconnects+t.Ends > 0 {
		text += fmt.Sprintf("; %d streams ended by the server, %d reconnects", t.Ends, t.Reconnects)
	}
	s.line("subscribers", text)
	s.crowd(t)
	if longest := t.Silence * 1e6; t.Quiet > 0 || longest >= t.Gap.MaxUs && t.Gap.Count > 0 {
		s.line("silence", fmt.Sprintf("%d subscribers had no event in the window; the longest silence at its end was %s. Silences that are longer than any gap are in the gaps, as lower bounds",
			t.Quiet, report.Seconds(t.Silence)))
	}
	if t.Config.ID != "" && t.Publish == nil {
		s.line("ids", t.ids())
	}
	if t.Oversized+t.Cut > 0 || t.Endless > 0 {
		s.line("records", fmt.Sprintf("%d oversized, %d cut short; %d that were over the limit and had not ended", t.Oversized, t.Cut, t.Endless))
	}
	s.line("errors", errorsOf(d))
	s.WriteString("\n")
}

// memory describes the generator's memory. With few subscribers, the share of each is omitted:
// most of it would be the memory of the process itself.
func (s *Stream) memory() string {
	text := "; RSS " + report.Bytes(float64(s.Memory), " ")
	if s.Subscribers >= 1000 {
		text += fmt.Sprintf(", %s a subscriber", report.Bytes(s.Each, " "))
	}
	return text
}

// errorsOf describes the number of errors, by kind.
func errorsOf(d *Document) string {
	n := results.CountErrors(d.Errors)
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%s)", n, results.ErrorKinds(d.Errors))
}

// streamHead names the columns of subscribers in CSV.
var streamHead = []string{
	"standing", "bytes_in", "gap_p50_us", "gap_p99_us", "read_lag_p99_us", "missed", "duplicated", "reconnects",
}

// streamCells returns the cells of a point.
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

// streamFigures returns the figures of a point for the live view.
func streamFigures(p *Point) []string {
	h := p.Stream
	return []string{
		"events " + report.PerSecond(p.Rate) + "/s", fmt.Sprintf("standing %d", h.Standing),
		"delay p99 " + report.Micros(p.P99Us, " "), "gap p99 " + report.Micros(h.GapP99, " "),
		fmt.Sprintf("missed %d", h.Missed), fmt.Sprintf("reconnects %d", h.Reconnects), "read lag " + report.Micros(h.LagP99, " "),
	}
}

// Standing shows the number of connected subscribers until all are connected.
func (l *Live) Standing(n int) {
	if l == nil {
		return
	}
	c := &l.doc.Config
	l.phase = fmt.Sprintf("connect: %d of %d", n, c.Connections*max(c.Streams, 1))
	l.draw()
}

// StreamConfig is the configuration of subscribers.
type StreamConfig struct {
	Format string   `json:"format"`                  // see listen.Config, also for the others
	Limit  int      `json:"limit,omitempty"`         // maximum bytes of a record
	Stamp  string   `json:"stamp,omitempty"`         // where an event has the time at which it was sent
	Unit   string   `json:"unit,omitempty"`          // unit of that time
	ID     string   `json:"id,omitempty"`            // where an event has its number
	Retry  *float64 `json:"retry_seconds,omitempty"` // until a subscriber reconnects; absent: it does not
	Stall  float64  `json:"stall_seconds,omitempty"` // time without a byte after which it closes its connection
	Ends   bool     `json:"ends,omitempty"`          // a stream that ends regularly is not an error
	Crowd
	AnyID bool `json:"-"` // ID is the default; the command line does not give one
}

// StreamConfigOf converts a generator's configuration of subscribers to the units of a document.
func StreamConfigOf(c *spec.Subscribe) StreamConfig {
	s := StreamConfig{Format: c.Format, Limit: c.Limit, Stamp: c.Stamp, Unit: c.Unit, ID: c.ID, Stall: c.Stall.Seconds(), Ends: c.Ends}
	if c.Retry != spec.NeverRetry {
		seconds := c.Retry.Seconds()
		s.Retry = &seconds
	}
	s.Crowd = crowdOf(c)
	return s
}

// where describes a source, see sse.ParseSource.
func where(source string) string {
	if field, ok := strings.CutPrefix(source, "@"); ok {
		return "a number in the field " + field
	}
	return "a number under the key " + source
}

// seenGates returns gates that fail if no event had the stamp or id of the command line:
// nothing could be counted by it.
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

// seenNotes returns notes about events without the stamp or id that others had.
func (s *Stream) seenNotes() (notes []string) {
	add := func(source string, n uint64, what string) {
		if source != "" && n > 0 && n < s.Events {
			notes = append(notes, fmt.Sprintf("%d of %d events did not have %s: %s", s.Events-n, s.Events, where(source), what))
		}
	}
	add(s.Config.ID, s.Numbered, "missed and duplicated ids are those of the others")
	add(s.Config.Stamp, s.Stamped, "delays are those of the others")
	return notes
}

// ids describes the counts of missed and duplicated ids.
func (s *Stream) ids() string {
	if s.Numbered == 0 {
		return "none of the events had " + where(s.Config.ID) + ": the number of missed events is unknown"
	}
	return fmt.Sprintf("%d missed, %d duplicated", s.Missed, s.Duplicated)
}
