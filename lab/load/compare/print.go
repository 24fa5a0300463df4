package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/redline-go/redline/lab/report"
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

// Print writes c as text, in at most report.Width columns: what makes it doubtful first,
// then the metrics, then the limits. It returns the errors of w.
func (c *Comparison) Print(w io.Writer) error {
	var b strings.Builder
	wrap := func(s string) {
		for i, l := range strings.Split(text.WrapSoft(s, report.Width-2), "\n") {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	for _, n := range c.Notes {
		wrap(n)
	}
	for _, d := range c.Differences {
		wrap("DIFFERENT: " + d)
	}
	if len(c.Notes)+len(c.Differences) > 0 {
		b.WriteString("\n")
	}
	for _, r := range []struct {
		name string
		Run
	}{{"a", c.A}, {"b", c.B}} {
		wrap(fmt.Sprintf("%s  %s: %s, %s s", r.name, report.Line(r.File), report.Line(r.URL), strconv.FormatFloat(r.Seconds, 'f', 1, 64)))
	}
	b.WriteString("\n")
	row := func(cells ...string) {
		fmt.Fprintf(&b, "%-7s", cells[0])
		for _, cell := range cells[1:4] {
			b.WriteString(text.AlignRight.Apply(cell, 12))
		}
		b.WriteString(text.AlignRight.Apply(cells[4], 22) + "   " + cells[5] + "\n")
	}
	row("", "a", "b", "change", "95 % interval", "verdict")
	for _, m := range c.Metrics {
		row(m.Name, m.figure(m.A), m.figure(m.B), m.printed(), m.interval(), m.Verdict)
	}
	if n := min(c.A.Slices, c.B.Slices); n < stats.MinSlices {
		b.WriteString("\n")
		wrap(fmt.Sprintf("There are no intervals: the shorter window has %d slices of time, and it takes %d. Measure longer, as -d 30s.", n, stats.MinSlices))
	}
	for i, j := range c.Limits {
		if i == 0 {
			b.WriteString("\n")
		}
		word := "kept"
		if !j.Kept {
			word = "BROKEN"
		}
		wrap(fmt.Sprintf("%-8s%s: %s", word, j.Limit, j.Why))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// figure prints the metric of one run.
func (m *Metric) figure(v *float64) string {
	if v == nil {
		return "–"
	}
	switch m.Unit {
	case "per_second":
		return report.PerSecond(*v) + "/s"
	case "share":
		return strconv.FormatFloat(100**v, 'g', 3, 64) + " %"
	case "bytes":
		return report.Bytes(*v, " ")
	}
	return report.Micros(*v, " ")
}

// signed prints a change in percent, of errors in percent of the requests.
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

// changeText prints a change with its unit.
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
