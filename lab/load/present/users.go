package present

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// Connects holds the figures of the generator's connections.
type Connects struct {
	Made    uint64           `json:"made"`              // since the generator began
	Time    *results.Latency `json:"time,omitempty"`    // duration of a connect
	Early   uint64           `json:"early,omitempty"`   // requests whose answer began before they were completely written
	Dropped uint64           `json:"dropped,omitempty"` // closed by the server while idle: not an error
	Retried uint64           `json:"retried,omitempty"` // requests sent again, once, because the server ended their connections between requests or refused them
}

// InFlight holds the number of requests in flight in the window: sent, and neither answered nor
// failed.
type InFlight struct {
	Mean   float64 `json:"mean"`
	Max    uint64  `json:"max"`    // with several generators, the sum of their maxima
	Places int     `json:"places"` // maximum possible: connections times pipeline, or times streams
}

func (d *Document) inFlight(r *spec.Result) *InFlight {
	c := &d.Config
	return &InFlight{Mean: r.InFlight, Max: r.InFlightMax, Places: max(c.Connections, c.Most) * max(c.Pipeline, 1) * max(c.Streams, 1)}
}

// Average formats the mean.
func (f *InFlight) Average() string {
	digits := 1
	if f.Mean < 10 {
		digits = 2
	}
	return strconv.FormatFloat(f.Mean, 'f', digits, 64)
}

const manyInFlight = 0.90 // share of the places from which connections count as waiting for the server

// inFlightText describes the requests in flight and, in a closed loop, what limits the rate.
func (d *Document) inFlightText() string {
	f := d.InFlight
	text := fmt.Sprintf("%s of %d on average, at most %d", f.Average(), f.Places, f.Max)
	v := d.Server
	if d.Open != nil || !d.Valid || v == nil || v.CPUs == 0 || d.Generator.Bound || f.Mean < manyInFlight*float64(f.Places) {
		return text
	}
	const full = 1 // a generator at its limit, so that only the server's CPUs decide
	if !verdict.Bound(full, v.CPU.Utilisation) {
		return text + ": every connection waits for the server, whose CPUs are full"
	}
	return text + ": every connection waits for the server, whose CPUs are not full; more connections may reach a higher rate"
}

// fillUsers adds the parts of the result about targets and connections.
func (d *Document) fillUsers(r *spec.Result) (err error) {
	d.Connects = Connects{Made: r.Connects, Early: r.Early, Dropped: r.Dropped, Retried: r.Retried}
	if d.Connects.Time, err = optional(r.Connect); err != nil {
		return err
	}
	if d.FirstByte, err = optional(r.FirstByte); err != nil {
		return err
	}
	for _, t := range r.Targets {
		into := results.Target{Name: t.Name, Tags: t.Tags, Setup: t.Setup, Requests: t.Requests, Errors: t.Errors}
		if len(t.Checks) > 0 {
			into.Checks = maps.Clone(t.Checks)
		}
		into.Failed = into.Failures()
		if into.Latency, err = results.ParseLatency(t.Histogram); err != nil {
			return err
		}
		d.Targets = append(d.Targets, into)
	}
	if err := d.fillTags(); err != nil {
		return err
	}
	return d.fillFlows(r)
}

// fillSums sets the totals of the counts.
func (d *Document) fillSums() {
	for _, kind := range []string{spec.ErrStatus, spec.ErrLength, spec.ErrBody, spec.ErrCheck} {
		d.Wrong += d.Errors[kind]
	}
	d.Answers = d.Requests + d.Wrong
	d.Failing = d.failures()
	d.AfterWindow, d.NoArrival = d.outside(d.Failing)
	if len(d.Targets) == 0 {
		return
	}
	left := d.Failing
	for i := range d.Targets {
		if t := &d.Targets[i]; !t.Setup {
			left -= min(left, t.Failures())
		}
	}
	d.NoTarget = left
}

// outside compares an open loop's failures with the errors of the window. after is the number of
// arrivals that failed after the window; other is the number of errors that are not failures,
// such as those of connections and of arrivals that were due in the warm-up.
func (d *Document) outside(failures uint64) (after, other uint64) {
	if d.Open == nil {
		return 0, 0
	}
	counted := results.CountErrors(d.Errors) + d.Open.Unfinished
	return failures - min(failures, counted), counted - min(failures, counted)
}

// targetFigures returns the figures that objectives of single targets are compared with.
func (d *Document) targetFigures() map[string]objective.Figures {
	if d.Targets == nil {
		return nil
	}
	all := map[string]objective.Figures{}
	for _, t := range d.Targets {
		failed := t.Failures()
		if !t.Setup {
			failed += d.unassigned(t.Requests + failed)
		}
		all[t.Name] = objective.Figures{Latency: t.Latency, Rate: float64(t.Requests) / d.Seconds, Answered: t.Requests, Errors: failed, Lost: failed, Bounds: t.Latency.Count - min(t.Requests, t.Latency.Count)}
	}
	d.tagFigures(all)
	d.flowFigures(all)
	return all
}

// unassigned returns the part of an open loop's failures without a target that counts against a
// target or tag with that many requests: a proportional share. Arrivals that were
// never sent would otherwise break no threshold of a target.
func (d *Document) unassigned(requests uint64) uint64 {
	var all uint64
	for _, t := range d.Targets {
		if !t.Setup {
			all += t.Requests + t.Failures()
		}
	}
	if d.Open == nil || all == 0 {
		return 0
	}
	return uint64(math.Ceil(float64(d.NoTarget) * float64(requests) / float64(all)))
}

// optional decodes a distribution that may be absent.
func optional(encoded string) (*results.Latency, error) {
	if encoded == "" {
		return nil, nil
	}
	l, err := results.ParseLatency(encoded)
	return &l, err
}

// Asked describes in one line what is requested, and where.
func (d *Document) Asked() string {
	if d.Config.Scenario != "" {
		return report.Line(filepath.Base(d.Config.Scenario)) + " at " + report.Line(d.URL)
	}
	return report.Line(d.Config.Method) + " " + report.Line(d.URL)
}

// behaviour describes what users do besides sending requests.
func (d *Document) behaviour() (parts []string) {
	c := d.Config
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(c.Think != "", "thinking for %s", report.Line(c.Think))
	add(c.PerConnection == 1, "a fresh connection for each request")
	add(c.PerConnection > 1, "a fresh connection after %d requests", c.PerConnection)
	add(c.ConnectRate > 0, "at most %.6g connects/s", c.ConnectRate)
	add(c.Unix != "", "over the socket %s", report.Line(c.Unix))
	add(len(c.Sources) > 0, "from %s", report.Line(strings.Join(c.Sources, ", ")))
	if c.Slow != nil {
		add(c.Slow.Read > 0, "%d of them taking %s/s", c.Slow.Connections, report.Bytes(float64(c.Slow.Read), " "))
		add(c.Slow.Write > 0, "%d of them sending %s/s", c.Slow.Connections, report.Bytes(float64(c.Slow.Write), " "))
	}
	return parts
}

// beginnings adds the rows for connects and first bytes to the table of latencies.
func (s *summary) beginnings(d *Document, row func(string, results.Latency)) {
	if d.FirstByte != nil {
		row("first byte", *d.FirstByte)
	}
	if d.Connects.Time != nil {
		row("connect", *d.Connects.Time)
	}
}

// connections writes the figures of connections, if any are of interest.
func (s *summary) connections(d *Document) {
	if d.Config.PerConnection > 0 || d.Connects.Dropped > 0 || d.Connects.Retried > 0 || d.Connects.Early > 0 {
		text := fmt.Sprintf("%d made in all", d.Connects.Made)
		if n := d.Connects.Dropped; n > 0 {
			text += fmt.Sprintf("; %d ended by the server between requests", n)
		}
		if n := d.Connects.Retried; n > 0 {
			text += fmt.Sprintf("; %d requests sent again on another: the server had ended theirs, or refused them", n)
		}
		if n := d.Connects.Early; n > 0 {
			text += fmt.Sprintf("; %d requests answered before they were sent", n)
		}
		s.line("connections", text)
		s.WriteString("\n")
	}
}

const (
	targetRows  = 40 // maximum rows of the table on a terminal; the JSON has all
	targetWidth = 44 // maximum width of a name in it
	targetCell  = 11 // width of a figure
)

// targets writes the table of a scenario's requests. Failed checks are listed below their
// target.
func (s *summary) targets(d *Document) {
	if len(d.Targets) == 0 || d.Config.Scenario == "" && len(d.Targets[0].Checks) == 0 {
		return
	}
	percents := d.targetPercents()
	columns := []screen.Column{{Head: "target", Width: targetWidth}, {Head: "requests", Width: targetCell}, {Head: "errors", Width: targetCell}}
	for _, p := range percents {
		columns = append(columns, screen.Column{Head: results.PercentileName(p), Width: targetCell})
	}
	table := screen.NewTable(columns...)
	list := d.Targets
	if len(list) > targetRows {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b results.Target) int {
			return cmp.Or(cmp.Compare(b.Failures(), a.Failures()), cmp.Compare(b.Requests, a.Requests))
		})
		list = list[:targetRows]
	}
	for _, t := range list {
		cells := []string{screen.Snip(report.Line(t.Name), targetWidth), fmt.Sprint(t.Requests), s.failed(t.Failures())}
		for _, p := range percents {
			cells = append(cells, report.Quantile(t.Latency.Percentile(p), " "))
		}
		table.Row(cells...)
		for _, name := range slices.Sorted(maps.Keys(t.Checks)) {
			table.Remark(func(on screen.Screen) string {
				return on.Paragraph("  failed    ", "            ", fmt.Sprintf("%d %s", t.Checks[name], report.Line(name)))
			})
		}
	}
	if n := d.NoTarget; n > 0 {
		cells := []string{"no target", "–", s.failed(n)}
		for range percents {
			cells = append(cells, "–")
		}
		table.Row(cells...)
	}
	s.WriteString(table.Print(s.screen))
	if n := len(d.Targets) - len(list); n > 0 {
		s.line("", fmt.Sprintf("and %d more with fewer errors or requests, see --json", n))
	}
	s.WriteString("\n")
}

// failed formats a number of errors, and highlights it unless it is 0.
func (s *summary) failed(n uint64) string {
	if n == 0 {
		return "0"
	}
	return s.screen.Paint(screen.Bad, fmt.Sprint(n))
}

// RampStep is a part of a ramp in which the number of connections changed linearly, or was
// constant.
type RampStep struct {
	From  float64 `json:"from_seconds"` // of the window
	To    float64 `json:"to_seconds"`
	Begin int     `json:"begin_connections"` // at From
	End   int     `json:"end_connections"`   // at To

	Requests          uint64          `json:"requests"` // right answers received in it
	RequestsPerSecond float64         `json:"requests_per_second"`
	Errors            uint64          `json:"errors"`  // counted in it
	Latency           results.Latency `json:"latency"` // of Requests, to two digits
}

// FillRamp adds the results of a ramp's steps to a document that Fill has filled. window is its
// planned length. Steps after the end of a shorter window are left out.
func (d *Document) FillRamp(ramp *arrive.Ramp, window time.Duration, counts []spec.RampStep) error {
	if ramp == nil {
		return nil
	}
	spans := ramp.Spans(window)
	if len(spans) != len(counts) {
		return fmt.Errorf("the generator reports %d steps of a ramp that has %d: use workers of the same version", len(counts), len(spans))
	}
	for i, at := range spans {
		step := RampStep{From: at.From.Seconds(), To: min(at.To.Seconds(), d.Seconds), Begin: at.Begin, End: at.End, Requests: counts[i].Requests, Errors: counts[i].Errors}
		if step.To <= step.From {
			break
		}
		if step.To < at.To.Seconds() {
			step.End = ramp.At(since(step.To))
		}
		step.RequestsPerSecond = float64(step.Requests) / (step.To - step.From)
		var err error
		if step.Latency, err = results.ParseLatency(counts[i].Histogram); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		d.RampSteps = append(d.RampSteps, step)
	}
	return nil
}

// Time returns the period of the step, as 30s–1m30s.
func (s *RampStep) Time() string {
	return since(s.From).Round(time.Millisecond).String() + "–" + since(s.To).Round(time.Millisecond).String()
}

// Connections returns the number of connections, as 0→100, or 100 if it was constant.
func (s *RampStep) Connections() string {
	if s.Begin == s.End {
		return fmt.Sprint(s.End)
	}
	return fmt.Sprintf("%d→%d", s.Begin, s.End)
}

// ramp writes the table of a ramp's steps.
func (s *summary) ramp(d *Document) {
	if len(d.RampSteps) == 0 {
		return
	}
	table := grid("step", "connections", "rate", "errors", "p50", "p95", "p99")
	for i := range d.RampSteps[:min(len(d.RampSteps), targetRows)] {
		t := &d.RampSteps[i]
		table.Row(t.Time(), t.Connections(), report.PerSecond(t.RequestsPerSecond)+"/s", s.failed(t.Errors),
			report.Quantile(t.Latency.P50, " "), report.Quantile(t.Latency.Quantile(0.95), " "), report.Quantile(t.Latency.P99, " "))
	}
	s.rows(table, len(d.RampSteps)-targetRows)
}
