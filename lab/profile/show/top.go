package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/profile/frames"
	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
)

// Options say how much is shown.
type Options struct {
	Screen screen.Screen
	Top    int  // functions
	ByCum  bool // the order of the functions: by their cumulative value
}

// Top writes the table of the largest functions, and that of the classes.
func Top(w io.Writer, s *tree.Samples, o Options) error {
	list := s.Functions()
	if o.ByCum {
		tree.ByCum(list)
	}
	var b strings.Builder
	b.WriteString(o.Screen.Paint(screen.Bold, Title(s)) + "\n")
	b.WriteString(table(s, "function", list[:min(o.Top, len(list))], o.Screen))
	if rest := len(list) - o.Top; rest > 0 {
		b.WriteString(o.Screen.Paint(screen.Dim, fmt.Sprintf("%d more functions", rest)) + "\n")
	}
	if s.Cut > 0 {
		fmt.Fprintf(&b, "%d stacks were too deep: their innermost functions are not counted\n", s.Cut)
	}
	b.WriteString("\n" + table(s, "purpose", s.Classes(), o.Screen))
	_, err := io.WriteString(w, b.String())
	return err
}

// table returns rows of functions or classes.
func table(s *tree.Samples, head string, list []tree.Function, on screen.Screen) string {
	columns := []screen.Column{{Head: head, Width: 40, Left: true}, {Head: "flat", Width: 10}, {Head: "flat %", Width: 8}, {Head: "cum", Width: 10}, {Head: "cum %", Width: 8}}
	each := s.PerRequest()
	if each > 0 {
		columns = append(columns, screen.Column{Head: "flat/req", Width: 10}, screen.Column{Head: "cum/req", Width: 10})
	}
	t := screen.NewTable(columns...)
	for _, f := range list {
		row := []string{
			frames.Short(f.Name), Amount(float64(f.Flat), s.Unit), report.Percent(share(f.Flat, s.Total)),
			Amount(float64(f.Cum), s.Unit), report.Percent(share(f.Cum, s.Total)),
		}
		if each > 0 {
			row = append(row, Amount(float64(f.Flat)*each, s.Unit), Amount(float64(f.Cum)*each, s.Unit))
		}
		t.Row(row...)
	}
	return t.Print(on)
}

// Limits of a call tree as text.
const (
	leastShare = 0.01 // of the total; smaller calls are left out
	mostLines  = 400
	mostIndent = 60
)

// Calls writes the tree of calls with at least a hundredth of the total, one call a line. Calls
// with one caller and the same value are indented like others.
func Calls(w io.Writer, s *tree.Samples, on screen.Screen) error {
	c := s.Calls()
	var b strings.Builder
	each := s.PerRequest()
	depth := make([]int, len(c.Nodes))
	lines := 0
	for i, n := range c.Nodes {
		if i == 0 {
			continue
		}
		depth[i] = depth[n.Parent] + 1
		of := share(n.Total, s.Total)
		if of < leastShare {
			continue
		}
		if lines++; lines > mostLines {
			fmt.Fprintf(&b, "the tree has more than %d lines; use --html\n", mostLines)
			break
		}
		text := fmt.Sprintf("%8s  %10s", report.Percent(of), Amount(float64(n.Total), s.Unit))
		if each > 0 {
			text += fmt.Sprintf("  %10s", Amount(float64(n.Total)*each, s.Unit))
		}
		text += "  " + strings.Repeat(" ", min(depth[i]-1, mostIndent)) + frames.Short(c.Symbols[n.Symbol].Name)
		if on.Width > 0 {
			text = screen.Snip(text, on.Width)
		}
		b.WriteString(text + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
