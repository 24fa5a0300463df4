package show

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/profile/baseline"
	"github.com/redline-go/redline/lab/profile/frames"
	"github.com/redline-go/redline/lab/profile/rules"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

const (
	vectorRows = 8  // of a metric
	changeRows = 40 // of a metric
)

// Vector writes a summary of a baseline.
func Vector(w io.Writer, v *baseline.Vector, on screen.Screen) error {
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[kind]
		text := fmt.Sprintf("%s: %d windows", kind, m.Windows)
		if m.Each {
			text += ", " + estimate(m.Total.Estimate, m.Unit) + " a request"
		}
		b.WriteString("\n" + on.Paint(screen.Bold, text) + "\n")
		columns := []screen.Column{{Head: "purpose", Width: 24, Left: true}, {Head: "flat %", Width: 10}, {Head: "cum %", Width: 10}}
		if m.Each {
			columns = append(columns, screen.Column{Head: "flat a request", Width: 30})
		}
		t := screen.NewTable(columns...)
		names := slices.SortedFunc(maps.Keys(m.Purposes), func(x, y string) int {
			if a, b := m.Purposes[x].FlatShare.Value, m.Purposes[y].FlatShare.Value; a != b {
				return int(math.Copysign(1, b-a))
			}
			return strings.Compare(x, y)
		})
		for _, name := range names[:min(len(names), vectorRows)] {
			p := m.Purposes[name]
			row := []string{name, report.Percent(p.FlatShare.Value), report.Percent(p.CumShare.Value)}
			if m.Each {
				row = append(row, estimate(p.Flat.Estimate, m.Unit))
			}
			t.Row(row...)
		}
		b.WriteString(t.Print(on))
	}
	for _, note := range v.Notes {
		b.WriteString("note: " + report.Line(note) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// estimate prints an estimate with its interval.
func estimate(e results.Estimate, unit string) string {
	return fmt.Sprintf("%s (%s to %s)", Amount(e.Value, unit), Amount(e.Low, unit), Amount(e.High, unit))
}

// Comparison writes what moved.
func Comparison(w io.Writer, c *baseline.Comparison, on screen.Screen) error {
	var b strings.Builder
	for i := range c.Parts {
		if i > 0 {
			b.WriteString("\n")
		}
		part(&b, &c.Parts[i], on)
	}
	for _, note := range c.Notes {
		b.WriteString("note: " + report.Line(note) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// part writes the comparison of one metric.
func part(b *strings.Builder, p *baseline.Part, on screen.Screen) {
	amount, signed, what := Amount, Signed, "a request"
	if !p.Each {
		amount = func(v float64, _ string) string { return report.Percent(v) }
		signed = func(v float64, _ string) string { return fmt.Sprintf("%+.2f pp", v*100) }
		what = "share of the total, because requests are unknown"
	}
	b.WriteString(on.Paint(screen.Bold, fmt.Sprintf("%s, %s", p.Kind, what)) + "\n")
	if t := p.Total; t != nil {
		verdict := "no change beyond noise"
		if t.Moved {
			verdict = "changed"
		}
		if t.Worse {
			verdict = on.Paint(screen.Loud, "WORSE")
		}
		fmt.Fprintf(b, "total %s, was %s: %s (%s to %s), %s\n", amount(t.After, p.Unit), amount(t.Before, p.Unit), signed(t.By, p.Unit), signed(t.Low, p.Unit), signed(t.High, p.Unit), verdict)
	}
	if p.Doubt != "" {
		b.WriteString("note: " + p.Doubt + "\n")
	}
	if len(p.Changes) == 0 {
		fmt.Fprintf(b, "none of %d values moved beyond noise\n", p.Asked)
		return
	}
	t := screen.NewTable(screen.Column{Head: "moved", Width: 36, Left: true}, screen.Column{Head: "value", Width: 5, Left: true},
		screen.Column{Head: "before", Width: 9}, screen.Column{Head: "after", Width: 9}, screen.Column{Head: "change", Width: 10}, screen.Column{Head: "interval", Width: 22}, screen.Column{Head: "p", Width: 7})
	for _, c := range p.Changes[:min(len(p.Changes), changeRows)] {
		name, value := frames.Short(c.Name), "flat"
		if c.Purpose {
			name = "purpose: " + c.Name
		}
		if c.Cum {
			value = "cum"
		}
		change := signed(c.By, p.Unit)
		if c.Worse {
			change = on.Paint(screen.Bad, change+" !")
		}
		t.Row(report.Line(name), value, amount(c.Before, p.Unit), amount(c.After, p.Unit), change,
			signed(c.Low, p.Unit)+" to "+signed(c.High, p.Unit), fmt.Sprintf("%.2g", c.P))
	}
	b.WriteString(t.Print(on))
	fmt.Fprintf(b, "%d of %d values moved; ! is a regression of more than %s\n", len(p.Changes), p.Asked, amount(p.Limit, p.Unit))
}

// Findings writes what the rules say of a measurement; before is nil without a baseline.
func Findings(w io.Writer, list []rules.Rule, before, now *baseline.Vector, on screen.Screen) error {
	found, missing := rules.Apply(list, before, now)
	var b strings.Builder
	for _, f := range found {
		text := fmt.Sprintf("rule %s: %s: %s", f.Rule, frames.Short(f.Name), f.Text)
		if f.Advice != "" {
			text += "; " + f.Advice
		}
		b.WriteString(on.Paragraph("", "  ", report.Line(text)))
	}
	for _, why := range missing {
		b.WriteString(on.Paint(screen.Dim, "rule not applied: "+report.Line(why)) + "\n")
	}
	if b.Len() > 0 {
		_, err := io.WriteString(w, "\n"+b.String())
		return err
	}
	return nil
}
