package present

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
)

// The terminal shows a page at most: so many causes whole, and the titles of the others.
const (
	shownCauses   = 3
	shownEvidence = 3
	shownAdvice   = 2
	shownPlaces   = 3
)

// Text writes the report for a terminal or a pipe.
func Text(w io.Writer, on screen.Screen, r *diagnose.Report) error {
	var b strings.Builder
	if !r.Valid {
		b.WriteString(on.Paint(screen.Loud, on.Paragraph("INVALID: ", "  ", report.Line(strings.Join(r.Why, "; ")))))
	}
	if r.Partial != "" {
		b.WriteString(on.Paint(screen.Bad, on.Paragraph("PARTIAL: ", "  ", report.Line(r.Partial))))
	}
	b.WriteString(on.Paragraph("", "", r.Verdict))
	if r.Disturbed != "" {
		b.WriteString(on.Paint(screen.Bad, on.Paragraph("DISTURBED: ", "  ", report.Line(r.Disturbed))))
	}
	b.WriteString("\n")
	for i := range r.Causes {
		if i >= shownCauses {
			also(&b, on, r.Causes[i:])
			break
		}
		cause(&b, on, i+1, &r.Causes[i])
	}
	spends(&b, on, r)
	for i := range r.Refuted {
		c := &r.Refuted[i]
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("  refuted: ", "    ", report.Line(c.Title+". "+c.Trial.Text))))
	}
	for _, t := range r.Trials {
		b.WriteString(on.Paragraph("  tried: ", "    ", report.Line(t.Text)))
	}
	for _, text := range r.Doubts {
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("  doubt: ", "    ", report.Line(text))))
	}
	for _, text := range r.Missing {
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("  not seen: ", "    ", report.Line(text))))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cause writes one cause with its evidence, its places and what to do.
func cause(b *strings.Builder, on screen.Screen, n int, c *diagnose.Cause) {
	b.WriteString(on.Paint(screen.Bold, on.Paragraph(fmt.Sprintf("%d. ", n), "   ", report.Line(c.Title))))
	b.WriteString(on.Paragraph("   ", "   ", fmt.Sprintf("%s, confidence %s  [%s]", Gain(c.Gain), report.Share(c.Confidence), c.ID)))
	for _, text := range c.Evidence[:min(len(c.Evidence), shownEvidence)] {
		b.WriteString(on.Paragraph("   - ", "     ", report.Line(text)))
	}
	for _, p := range c.Sites[:min(len(c.Sites), shownPlaces)] {
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("     ", "       ", Place(p))))
	}
	for _, text := range c.Advice[:min(len(c.Advice), shownAdvice)] {
		b.WriteString(on.Paint(screen.Good, on.Paragraph("   > ", "     ", report.Line(text))))
	}
	if c.Trial != nil {
		b.WriteString(on.Paragraph("   tried: ", "     ", report.Line(c.Trial.Text)))
	}
	b.WriteString("\n")
}

// shownSpends is how many parts of the requests' time are shown.
const shownSpends = 5

// shownStack is how many functions stand for a place that is unknown.
const shownStack = 3

// spends writes where requests spend their time, also when no cause is known.
func spends(b *strings.Builder, on screen.Screen, r *diagnose.Report) {
	if len(r.Time) == 0 {
		return
	}
	b.WriteString(on.Paint(screen.Bold, on.Paragraph("", "  ", spendTitle(r))))
	for _, s := range r.Time[:min(len(r.Time), shownSpends)] {
		b.WriteString(on.Paragraph(fmt.Sprintf("  %5.1f %%  ", s.Share*100), "           ", report.Line(s.What+spendPlace(s))))
	}
	b.WriteString("\n")
}

// spendTitle says of which load the parts are.
func spendTitle(r *diagnose.Report) string {
	text := "Where requests spend their time"
	if knee := r.Evidence.Knee(); knee != nil && knee.Latency.Mean > 0 {
		text += fmt.Sprintf(" (%s on average, with %d connections)", report.Seconds(knee.Latency.Mean), knee.Connections)
	}
	return text + ":"
}

// spendPlace is the place of a part in the code.
func spendPlace(s diagnose.Spend) string {
	switch {
	case s.Place.Func == "" && len(s.Stack) > 0:
		return ", " + strings.Join(s.Stack[:min(len(s.Stack), shownStack)], " < ")
	case s.Place.Func == "":
		return ""
	case s.Place.File == "":
		return ", " + s.Place.Func
	}
	return fmt.Sprintf(", %s (%s:%d)", s.Place.Func, s.Place.File, s.Place.Line)
}

// also writes the titles of further causes.
func also(b *strings.Builder, on screen.Screen, causes []diagnose.Cause) {
	for i := range causes {
		c := &causes[i]
		b.WriteString(on.Paragraph("   also: ", "     ", report.Line(fmt.Sprintf("%s (%s) [%s]", c.Title, Gain(c.Gain), c.ID))))
	}
	b.WriteString("\n")
}

// Gain returns a gain in words.
func Gain(g diagnose.Gain) string {
	var parts []string
	for _, p := range []struct {
		name  string
		value float64
		sign  string
	}{{"highest rate", g.Ceiling, "+"}, {"CPU of an answer", g.CPU, "-"}, {"latency", g.Latency, "-"}} {
		if p.value >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %s%.0f %%", p.name, p.sign, p.value*100))
		}
	}
	if g.Fatal {
		parts = append(parts, "in time it ends the server")
	}
	if len(parts) == 0 {
		return "no gain"
	}
	return "estimated gain: " + strings.Join(parts, ", ")
}

// Place returns a place in one line.
func Place(p diagnose.Place) string {
	text := p.Func
	if p.File != "" {
		text += fmt.Sprintf(" (%s:%d)", p.File, p.Line)
	}
	return fmt.Sprintf("%5.1f %%  %s", p.Share*100, report.Line(text))
}
