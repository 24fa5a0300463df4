package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/watch"
)

// mostMembers is the number of rows of a family of figures.
const mostMembers = 8

// Print writes the summary of a watch for people. extra are figures that the table of watch
// does not have.
func Print(w io.Writer, on screen.Screen, s watch.Summary, extra []watch.Figure) error {
	var b strings.Builder
	b.WriteString(on.Paragraph("", "", s.Taken()) + "\n")
	table := screen.NewTable(
		screen.Column{Head: "figure", Width: 28}, screen.Column{Head: "min", Width: 14}, screen.Column{Head: "median", Width: 14},
		screen.Column{Head: "max", Width: 14}, screen.Column{Head: "last", Width: 14},
	)
	silent, rare := 0, 0
	var few []string
	for _, f := range append(watch.Figures(), extra...) {
		list := watch.In(f, s.Figures)
		if len(list) > mostMembers {
			slices.SortStableFunc(list, func(x, y watch.Named[watch.Range]) int { return cmp.Compare(y.Value.Max, x.Value.Max) })
			rare += len(list) - mostMembers
			list = list[:mostMembers]
		}
		for _, one := range list {
			r := one.Value
			if !s.Sparse() && r.Sparse() {
				few = append(few, fmt.Sprintf("%s in %d of %d", one.Name, r.Samples, r.Due))
			}
			if r.Min == 0 && r.Max == 0 && !s.Sparse() && !r.Sparse() {
				silent++
			} else {
				table.Row(one.Name, Format(f.Unit, r.Min), Format(f.Unit, r.Median), Format(f.Unit, r.Max), Format(f.Unit, r.Last))
			}
		}
	}
	b.WriteString(table.Print(on))
	switch silent {
	case 0:
	case 1:
		b.WriteString("1 more figure was 0 all the time.\n")
	default:
		fmt.Fprintf(&b, "%d more figures were 0 all the time.\n", silent)
	}
	if rare > 0 {
		fmt.Fprintf(&b, "Of calls, peers and parts, the %d largest of each figure are shown; %d more are in the JSON.\n", mostMembers, rare)
	}
	if len(few) > 0 {
		b.WriteString(on.Paragraph("", "", "Read in fewer samples than due, so that they are of some moments only: "+names(few)+"."))
	}
	b.WriteString("\n" + marks(on, s))
	for _, m := range s.Missing {
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("missing: ", "  ", Missing(m))))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// marks is the part about the marks.
func marks(on screen.Screen, s watch.Summary) string {
	var b strings.Builder
	for _, m := range s.Marks {
		switch {
		case len(m.Missing) > 0:
			b.WriteString(on.Paint(screen.Dim, on.Paragraph("mark ", "  ", fmt.Sprintf("%s: not evaluated without %s", m.Mark, names(m.Missing)))))
		case m.Times > 0:
			b.WriteString(on.Paint(screen.Bad, on.Paragraph("mark ", "  ", fmt.Sprintf("%s: crossed %s, first after %.1f s; worst %.3g %s, limit %.3g", m.Mark, times(m.Times), m.First, m.Worst, m.Unit, m.Limit))))
		default:
			b.WriteString(on.Paragraph("mark ", "  ", fmt.Sprintf("%s: not crossed, limit %.3g %s", m.Mark, m.Limit, m.Unit)))
		}
	}
	return b.String()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
