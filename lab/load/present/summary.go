package present

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// Summary writes the result of a run in the width of a screen: failed gates and remarks first,
// then the figures, then the thresholds. It returns the errors of w.
func Summary(w io.Writer, d *Document, on screen.Screen) error {
	s := summary{screen: on}
	s.doubts(d)
	s.search(d)
	s.line("", d.Asked())
	s.line("", d.Describe())
	s.WriteString("\n")
	if d.Stream != nil {
		s.stream(d)
	} else {
		s.rate(d)
	}
	s.latency(d)
	s.disturbance(d)
	s.ramp(d)
	s.steps(d)
	s.targets(d)
	s.tags(d)
	s.flows(d)
	s.sides(d)
	s.workers(d)
	s.thresholds(d)
	_, err := io.WriteString(w, s.String())
	return err
}

type summary struct {
	strings.Builder
	screen screen.Screen
}

// line writes a labelled line, wrapped under its text. Without a label, it is indented from its
// second line on.
func (s *summary) line(label, body string) { s.styled("", label, body) }

// styled is line with a style for the label.
func (s *summary) styled(style screen.Style, label, body string) {
	const column = 12
	first, rest := s.screen.Paint(style, fmt.Sprintf("%-*s", column, label)), strings.Repeat(" ", column)
	if label == "" {
		first, rest = "", "  "
	}
	s.WriteString(s.screen.Paragraph(first, rest, body))
}

// loud writes a line without a label, with a highlighted first word.
func (s *summary) loud(style screen.Style, word, body string) {
	s.line("", s.screen.Paint(style, word)+" "+body)
}

// doubts writes failed gates and remarks. They precede the figures that they apply to.
func (s *summary) doubts(d *Document) {
	failed := slices.DeleteFunc(d.Failed(), func(g results.Gate) bool { return g.Disturbance })
	for _, g := range failed {
		s.loud(screen.Loud, "INVALID:", fmt.Sprintf("%s (gate %s)", report.Line(g.Text), g.Name))
	}
	if d.Partial != "" {
		s.loud(screen.Loud, "PARTIAL:", report.Line(d.Partial))
	}
	for _, n := range d.Notes {
		s.loud(screen.Bold, "NOTE:", report.Line(n))
	}
	if len(failed) > 0 || d.Partial != "" || len(d.Notes) > 0 {
		s.WriteString("\n")
	}
}

// disturbance follows the figures that it bounds.
func (s *summary) disturbance(d *Document) {
	if text := d.Disturbance(); text != "" {
		s.loud(screen.Bold, "DISTURBED:", text+".")
		s.WriteString("\n")
	}
}

func (s *summary) search(d *Document) {
	if d.Search == nil {
		return
	}
	s.loud(screen.Bold, "Highest rate:", d.Search.Text)
	if d.Search.Rate > 0 {
		s.line("", "Its last run:")
	}
	s.WriteString("\n")
}

// Describe returns a description of the load.
func (d *Document) Describe() string {
	c := d.Config
	n, what := c.Connections, "connection"
	if d.Stream != nil {
		n, what = n*max(c.Streams, 1), "subscriber"
	}
	parts := []string{fmt.Sprintf("%d %ss", n, what)}
	if n == 1 {
		parts[0] = "1 " + what
	}
	if c.Most > 0 {
		parts[0] += fmt.Sprintf(" and up to %d when arrivals wait", c.Most)
	}
	if c.Ramp != "" {
		parts[0] = "up to " + parts[0] + " (" + c.Ramp + ")"
	}
	if c.Workers == 1 {
		parts[0] += " of one worker"
	} else if c.Workers > 1 {
		parts[0] += fmt.Sprintf(" of %d workers", c.Workers)
	}
	if c.Pipeline > 1 {
		parts = append(parts, fmt.Sprintf("%d in flight on each", c.Pipeline))
	}
	parts = append(parts, d.protocol()...)
	if d.Stream == nil && c.Arrivals == "" {
		parts = append(parts, "closed loop")
	} else if d.Stream == nil {
		parts = append(parts, "open loop: "+c.Arrivals)
	}
	parts = append(parts, d.behaviour()...)
	if c.Requests > 0 {
		parts = append(parts, counted(c.Requests))
	}
	warm := fmt.Sprintf("after %s of warm-up", report.Seconds(d.Generator.WarmupSeconds))
	if c.Requests > 0 && d.Generator.WarmupSeconds == 0 {
		warm = "without a warm-up"
	}
	return strings.Join(append(parts, report.Seconds(d.Seconds)+" "+warm), ", ")
}

func counted(requests uint64) string {
	if requests == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", requests)
}

func (s *summary) rate(d *Document) {
	rate := report.PerSecond(d.RequestsPerSecond) + " requests/s"
	if o := d.Open; o != nil {
		rate += fmt.Sprintf(" of %s asked for", report.PerSecond(o.TargetRate))
	}
	s.line("rate", rate)
	if o := d.Open; o != nil {
		s.line("arrivals", fmt.Sprintf("%d due = %d answered + %d failed + %d unfinished; %d sent in the window, %d waited for a connection",
			o.Due, o.Due-o.Failed-o.Unfinished, o.Failed, o.Unfinished, o.Sent, o.Waited))
	}
	in, out := float64(d.BytesIn)/d.Seconds, float64(d.BytesOut)/d.Seconds
	answers := fmt.Sprintf("%d right", d.Requests)
	if d.Wrong > 0 {
		answers = fmt.Sprintf("%d = %d right + %d wrong", d.Answers, d.Requests, d.Wrong)
	}
	s.line("answers", fmt.Sprintf("%s in %s; %s/s in, %s/s out", answers, report.Seconds(d.Seconds), report.Bytes(in, " "), report.Bytes(out, " ")))
	if text := d.AnswersText(); text != "" {
		s.line("status", text)
	}
	errors := "none"
	if n, kinds := d.Failures(); n > 0 {
		errors = s.screen.Paint(screen.Bad, fmt.Sprint(n)) + fmt.Sprintf(", %s (%s)", report.Share(d.ErrorRatio), kinds)
	}
	s.line("errors", errors)
	if i := d.Iterations; i != nil {
		s.line("iterations", fmt.Sprintf("%d completed, %d aborted, %d under way at the end", i.Completed, i.Aborted, i.Unfinished))
	}
	if d.InFlight != nil {
		s.line("in flight", d.inFlightText())
	}
	if d.Unanswered > 0 {
		s.line("unanswered", fmt.Sprintf("%d requests; the latencies below include their ages, which are lower bounds", d.Unanswered))
	}
	if d.TimedOut > 0 {
		s.line("timed out", fmt.Sprintf("%d requests; the latencies below include their ages, which are lower bounds", d.TimedOut))
	}
	if d.Late > 0 {
		s.line("late", fmt.Sprintf("%d answers after the window took more than twice as long as any in it; the latencies below include them", d.Late))
	}
	s.WriteString("\n")
}

// latency writes a table with a line for each distribution.
func (s *summary) latency(d *Document) {
	var rows []named
	line := func(name string, l results.Latency) { rows = append(rows, named{name, l}) }
	switch {
	case d.Stream != nil:
		line("delay", d.Latency)
		line("gap", d.Stream.Gap)
		line("read lag", d.Stream.Lag)
	case d.Open == nil:
		line("latency", d.Latency)
	default:
		line("response", d.Latency)
		line("service", d.Open.Service)
		line("send lag", d.Open.SendLag)
		line("pacing", d.Open.Pacing)
	}
	if d.Iterations != nil {
		line("iteration", d.Iterations.Time)
		line("its answers", d.Iterations.WithoutThink)
	}
	s.handshakes(d, line)
	s.beginnings(d, line)
	s.tables(rows, d.Percents())
	s.connections(d)
}

func (s *summary) sides(d *Document) {
	s.secure(d)
	unit := "a request"
	if d.Stream != nil {
		unit = "an event"
	}
	if v := d.Server; v != nil {
		text := fmt.Sprintf("CPU %.2f of %s", v.CPU.Utilisation*float64(max(v.CPUs, 1)), cpus(v.CPUs+v.Taken))
		if v.Taken > 0 {
			text += fmt.Sprintf(", %d of them the generator's", v.Taken)
		}
		if v.Gone() {
			text += fmt.Sprintf("; peak RSS %s; ended during the run", report.Bytes(float64(v.Memory.RSSPeakBytes), " "))
		} else {
			text += fmt.Sprintf(", %s %s; RSS %s, peak %s; %d threads, %d descriptors", report.Micros(v.CPU.PerRequestUs, " "), unit,
				report.Bytes(float64(v.Memory.RSSFinalBytes), " "), report.Bytes(float64(v.Memory.RSSPeakBytes), " "), v.Process.Threads, v.Process.OpenFiles)
		}
		s.line("server", text)
	}
	s.runtime(d, unit)
	generator := fmt.Sprintf("CPU %s of its core; steal %s", report.Percent(d.Generator.CPUUtilisation), report.Percent(d.Generator.StealRatio))
	if f := d.Generator.ForeignRatio; f != nil {
		generator += ", other processes " + report.Percent(*f)
	}
	if t := d.Stream; t != nil {
		generator += t.memory()
	}
	s.line("generator", generator)
}

func cpus(n int) string {
	switch n {
	case 0:
		return "an unknown number of CPUs"
	case 1:
		return "1 CPU"
	}
	return fmt.Sprintf("%d CPUs", n)
}

func (s *summary) thresholds(d *Document) {
	for i, j := range d.Thresholds {
		if i == 0 {
			s.WriteString("\n")
		}
		label, style := "kept", screen.Good
		switch {
		case j.Undecided != "":
			label, style = "UNDECIDED", screen.Bold
		case !j.Kept:
			label, style = "BROKEN", screen.Loud
		}
		s.styled(style, label, j.Why)
	}
}
