package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/stats"
)

// Encode writes c as indented JSON.
func (c *Comparison) Encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Print writes c as text in the width of a screen: first the notes that make it doubtful, then
// the metrics, then the limits. It returns the errors of w.
func (c *Comparison) Print(w io.Writer, s screen.Screen) error {
	var b strings.Builder
	wrap := func(style screen.Style, text string) { b.WriteString(s.Paint(style, s.Paragraph("", "  ", text))) }
	for _, n := range c.Notes {
		wrap(screen.Bad, n)
	}
	for _, d := range c.Differences {
		wrap(screen.Bad, "DIFFERENT: "+d)
	}
	if len(c.Notes)+len(c.Differences) > 0 {
		b.WriteString("\n")
	}
	for _, r := range []struct {
		name string
		Run
	}{{"a", c.A}, {"b", c.B}} {
		wrap("", fmt.Sprintf("%s  %s: %s, %s", r.name, report.Line(r.File), report.Line(r.URL), report.Seconds(r.Seconds)))
	}
	b.WriteString("\n")
	table := screen.NewTable(screen.Column{Width: 7}, screen.Column{Head: "a", Width: 12}, screen.Column{Head: "b", Width: 12},
		screen.Column{Head: "change", Width: 12}, screen.Column{Head: "95 % interval", Width: 22},
		screen.Column{Head: "verdict", Left: true, Width: 24})
	for _, m := range c.Metrics {
		table.Row(m.Name, m.figure(m.A), m.figure(m.B), m.printed(), m.interval(), s.Paint(verdictStyles[m.Verdict], m.Verdict))
	}
	b.WriteString(table.Print(s))
	if n := min(c.A.Slices, c.B.Slices); n < stats.MinSlices {
		b.WriteString("\n")
		wrap("", fmt.Sprintf("There are no intervals: the shorter window has %d slices of time, but %d are required. Measure longer, as -d 30s.", n, stats.MinSlices))
	}
	for i, j := range c.Limits {
		if i == 0 {
			b.WriteString("\n")
		}
		word := s.Paint(screen.Good, "kept    ")
		if !j.Kept {
			word = s.Paint(screen.Loud, "BROKEN  ")
		}
		b.WriteString(s.Paragraph(word, "  ", j.Limit+": "+j.Why))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// verdictStyles has the styles of the verdicts that are highlighted.
var verdictStyles = map[string]screen.Style{Better: screen.Good, Worse: screen.Bad}

// figure formats the metric of one run.
func (m *Metric) figure(v *float64) string {
	if v == nil {
		return "–"
	}
	switch m.Unit {
	case "per_second":
		return report.PerSecond(*v) + "/s"
	case "share":
		return report.Share(*v)
	case "bytes":
		return report.Bytes(*v, " ")
	}
	return report.Micros(*v, " ")
}

// signed formats a change in percent; for errors, in percent of the requests.
func (m *Metric) signed(v float64) string {
	digits := 1
	if m.Unit == "share" {
		digits = 3
	}
	s := strconv.FormatFloat(100*v, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	if v > 0 {
		s = "+" + s
	}
	return s
}

// changeText formats a change with its unit.
func (m *Metric) changeText(v float64) string {
	if m.Unit == "share" {
		return m.signed(v) + " % of the requests"
	}
	return m.signed(v) + " %"
}

func (m *Metric) printed() string {
	v, _, _, known := m.change()
	if !known {
		return "–"
	}
	return m.signed(v) + " %"
}

func (m *Metric) interval() string {
	_, low, high, known := m.change()
	if !known || !m.Interval {
		return "–"
	}
	return m.signed(low) + " to " + m.signed(high) + " %"
}
