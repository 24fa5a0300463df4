package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// failedGate is a gate that did not pass, and what to do about it.
type failedGate struct{ Name, Text, Advice string }

// figure is a figure at the top of the page.
type figure struct{ Name, Text, Small string }

// fact is a line about the machine and the run.
type fact struct{ Name, Text string }

// unit returns the noun for what is counted.
func unit(d *present.Document) string {
	if d.Stream != nil {
		return "event"
	}
	return "request"
}

// round rounds to five digits, which are more precise than a pixel, to keep the page small.
func round(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
	if err != nil {
		return v
	}
	return short
}

func failedGates(d *present.Document) (list []failedGate) {
	for _, g := range d.Failed() {
		list = append(list, failedGate{report.Line(g.Name), report.Line(g.Text), verdict.Advice(g.Name, d.Open != nil)})
	}
	return list
}

// distribution is a latency of the run. Drawn are those that users see, or that explain them.
type distribution struct {
	name    string
	latency results.Latency
	drawn   bool
}

func distributions(d *present.Document) (list []distribution) {
	switch {
	case d.Stream != nil:
		list = append(list, distribution{"delay", d.Latency, true}, distribution{"gap", d.Stream.Gap, true}, distribution{"read lag", d.Stream.Lag, false})
	case d.Open != nil:
		list = append(list, distribution{"response", d.Latency, true}, distribution{"service", d.Open.Service, true},
			distribution{"send lag", d.Open.SendLag, false}, distribution{"pacing", d.Open.Pacing, false})
	default:
		list = append(list, distribution{"latency", d.Latency, true})
	}
	if i := d.Iterations; i != nil {
		list = append(list, distribution{"iteration", i.Time, true}, distribution{"iteration, without think time", i.WithoutThink, false})
	}
	if d.FirstByte != nil {
		list = append(list, distribution{"first byte", *d.FirstByte, false})
	}
	if d.Connects.Time != nil {
		list = append(list, distribution{"connect", *d.Connects.Time, false})
	}
	if d.TLS != nil {
		list = append(list, distribution{"TLS", d.TLS.Time, false})
	}
	return list
}

// figures returns the main figures.
func figures(d *present.Document) []figure {
	rate := figure{Name: "Right answers", Text: report.PerSecond(d.RequestsPerSecond) + "/s", Small: fmt.Sprintf("%d in %s", d.Requests, report.Seconds(d.Seconds))}
	what := "Response time"
	switch {
	case d.Stream != nil:
		rate.Name, what = "Events", "Delay"
	case d.Open != nil:
		rate.Small = fmt.Sprintf("of %s/s asked for", report.PerSecond(d.Open.TargetRate))
	}
	list := []figure{rate}
	percents := []float64{50, 95, 99, 99.9}
	if asked := d.Config.Percentiles; len(asked) > 0 {
		percents = asked[:min(len(asked), 6)]
	}
	for _, p := range percents {
		if us := d.Latency.Percentile(p); us != nil {
			list = append(list, figure{Name: what + " " + results.PercentileName(p), Text: report.Micros(*us, " ")})
		}
	}
	errors := figure{Name: "Errors", Text: "none"}
	if n, kinds := d.Failures(); n > 0 {
		errors.Text, errors.Small = fmt.Sprint(n), report.Share(d.ErrorRatio)+": "+report.Line(kinds)
	}
	list = append(list, errors)
	if f := d.InFlight; f != nil {
		list = append(list, figure{Name: "In flight", Text: f.Average(), Small: fmt.Sprintf("on average; %d at most, of %d", f.Max, f.Places)})
	}
	if d.Unanswered > 0 {
		list = append(list, figure{Name: "Unanswered", Text: fmt.Sprint(d.Unanswered), Small: "requests without an answer, although the generator waited"})
	}
	if d.TimedOut > 0 {
		list = append(list, figure{Name: "Timed out", Text: fmt.Sprint(d.TimedOut), Small: "requests; the latencies include their ages, which are lower bounds"})
	}
	if d.Open != nil {
		list = append(list, figure{Name: "Unfinished", Text: fmt.Sprint(d.Open.Unfinished), Small: fmt.Sprintf("%d due, %d failed, %d waited", d.Open.Due, d.Open.Failed, d.Open.Waited)})
	}
	if t := d.Stream; t != nil {
		list = append(list, figure{Name: "Connected", Text: fmt.Sprint(t.Standing), Small: fmt.Sprintf("of %d; %d at least", t.Subscribers, t.Lowest)},
			figure{Name: "Gap p99", Text: report.Quantile(t.Gap.P99, " ")}, figure{Name: "Missed", Text: fmt.Sprint(t.Missed), Small: fmt.Sprintf("%d duplicated", t.Duplicated)})
	}
	if v := d.Server; v != nil {
		each := "–"
		if !v.Gone() {
			each = report.Micros(v.CPU.PerRequestUs, " ")
		}
		list = append(list, figure{Name: "Server CPU", Text: each, Small: fmt.Sprintf("a %s; %s of its CPUs", unit(d), report.Percent(v.CPU.Utilisation))},
			figure{Name: "Server memory", Text: report.Bytes(float64(v.Memory.RSSPeakBytes), " "), Small: "resident, at most"})
	}
	if r := d.Runtime; r != nil && !r.Restarted && r.AllocsPerRequest > 0 {
		list = append(list, figure{Name: "Allocations", Text: report.PerSecond(r.AllocsPerRequest), Small: fmt.Sprintf("a %s; %s", unit(d), report.Bytes(r.BytesPerRequest, " "))})
	}
	return append(list, figure{Name: "Generator CPU", Text: report.Percent(d.Generator.CPUUtilisation), Small: "of its core"})
}

// timesText describes the start of the response times, and their precision.
func timesText(d *present.Document) string {
	from := "From the send to the whole answer."
	switch {
	case d.Stream != nil:
		from = "From when an event was sent to when it was read."
	case d.Open != nil:
		from = "From when a request was due to the whole answer."
	}
	if len(d.Workers) > 0 {
		exact := "All are read from the counts of the heat map below, whose cells are 14 to 25 % wide"
		return from + " " + exact + "."
	}
	return from + " They are exact for each moment, unless several share a column: then they are read from the counts of the heat map below, whose cells are 14 to 25 % wide."
}

// errorsText describes the errors.
func errorsText(d *present.Document) string {
	parts := []string{"Since the previous point."}
	if d.Unanswered > 0 {
		parts = append(parts, fmt.Sprintf("%d requests of the window had no answer, although the generator waited for it.", d.Unanswered))
	}
	if d.Open != nil && d.Open.Unfinished > 0 {
		parts = append(parts, fmt.Sprintf("%d requests that were due in the window never had an answer.", d.Open.Unfinished))
	}
	return strings.Join(parts, " ")
}

func cpuText(d *present.Document) string {
	text := "CPUs in use: 1 is a whole one."
	if d.Server == nil {
		text += " The server's processes are unknown: if they run on this machine, name them with --pid."
	}
	if len(d.Workers) > 0 {
		text += " CPUs of the generators are in their table."
	}
	return text
}

// facts returns the machine, and the command line.
func facts(d *present.Document) []fact {
	m, c := d.Machine, d.Config
	machine := fmt.Sprintf("%s, %d × CPU, %s", m.CPU, m.CPUs, report.Bytes(float64(m.MemoryBytes), " "))
	if m.Virtual != "" {
		machine += ", virtual (" + m.Virtual + ")"
	}
	if m.Governor != "" {
		machine += ", governor " + m.Governor
	}
	built := m.Go + ", " + d.Tool
	if m.Commit != "" {
		built += ", commit " + m.Commit
	}
	list := []fact{
		{"Machine", machine},
		{"System", fmt.Sprintf("%s, Linux %s, %s", m.OS, m.Kernel, m.Arch)},
		{"Built with", built},
		{"Run", fmt.Sprintf("%s to %s", d.Started.UTC().Format("2006-01-02 15:04:05"), d.Ended.UTC().Format("15:04:05 MST"))},
		{"Generator", fmt.Sprintf("on CPU %s, seed %d", strings.Trim(strings.ReplaceAll(fmt.Sprint(c.CPUs), " ", ", "), "[]"), c.Seed)},
		{"TCP", fmt.Sprintf("congestion control %s, ports %d–%d, %d files", m.Congestion, m.PortRange[0], m.PortRange[1], m.FileLimit)},
	}
	if v := d.Server; v != nil {
		list = append(list, fact{"Server", fmt.Sprintf("processes %s, %d threads, %d descriptors", strings.Trim(fmt.Sprint(v.PIDs), "[]"), v.Process.Threads, v.Process.OpenFiles)})
	}
	if len(d.Command) > 0 {
		list = append(list, fact{"Command", "redline " + strings.Join(d.Command, " ")})
	}
	for i := range list {
		list[i].Text = report.Line(list[i].Text)
	}
	return list
}
