package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/trace"
)

const (
	groupRows = 6 // of each table: the rest is in the page and in the JSON
	rows      = 4
	slowRows  = 3
	barCells  = 40
)

// Print writes the summary of a report: at most a page.
func Print(w io.Writer, on screen.Screen, r *trace.Report) error {
	var b strings.Builder
	if r.Partial != "" {
		b.WriteString(on.Paint(screen.Loud, on.Paragraph("PARTIAL ", "  ", report.Line(r.Partial)+": the figures are those of the trace until there")))
	}
	b.WriteString(on.Paint(screen.Bold, on.Paragraph("", "  ", Title(r))))
	b.WriteString(on.Paragraph("Ps  ", "    ", Use(r)))
	b.WriteString(on.Paragraph("GC  ", "    ", GC(r)))
	b.WriteString(on.Paragraph("system calls  ", "    ", Syscalls(r)))
	for _, part := range []func(screen.Screen, *trace.Report) string{requests, slowest, waits, blocks, goroutines, leaks} {
		if text := part(on, r); text != "" {
			b.WriteString("\n" + text)
		}
	}
	if len(r.Dropped) > 0 {
		var list []string
		for _, d := range r.Dropped {
			list = append(list, fmt.Sprintf("%s (%d)", d.Table, d.Count))
		}
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("full tables left out: ", "  ", strings.Join(list, ", "))))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

func columns(name string, width int, heads ...string) []screen.Column {
	out := []screen.Column{{Head: name, Width: width}}
	for _, h := range heads {
		out = append(out, screen.Column{Head: h, Width: 11})
	}
	return out
}

// spread returns the cells of a distribution.
func spread(s trace.Spread) []string {
	return []string{Count(s.Count), Percentile(s.P50NS), Percentile(s.P99NS), Time(s.MaxNS)}
}

func requests(on screen.Screen, r *trace.Report) string {
	if len(r.Groups) == 0 {
		return on.Paint(screen.Dim, on.Paragraph("", "  ", "requests: none that the trace names; a server names them with runtime/trace tasks or regions, and those of net/http are found by their stacks"))
	}
	t := screen.NewTable(columns("requests", 40, "count", "p50", "p99", "max")...)
	for i, g := range r.Groups {
		if i == groupRows {
			rest := len(r.Groups) - groupRows
			t.Remark(func(on screen.Screen) string { return on.Paragraph("  ", "  ", fmt.Sprintf("and %d more", rest)) })
			break
		}
		t.Row(append([]string{g.Kind + " " + report.Line(g.Name)}, spread(g.Spread)...)...)
		t.Remark(func(on screen.Screen) string {
			return on.Paint(screen.Dim, on.Paragraph("    ", "      ", Spent(&g)))
		})
	}
	return t.Print(on)
}

func slowest(on screen.Screen, r *trace.Report) string {
	if len(r.Slowest) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(on.Paragraph("", "", "slowest: █ running ▓ system call ▒ runnable ░ blocked"))
	for _, q := range r.Slowest[:min(len(r.Slowest), slowRows)] {
		fmt.Fprintf(&b, "  %s %9s at %-9s %s\n", Bar(q, barCells), Time(q.NS), Time(q.BeginNS), screen.Snip(report.Line(q.Name), 34))
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("    ", "      ", Reason(q.Spent, q.Hot))))
	}
	return b.String()
}

func waits(on screen.Screen, r *trace.Report) string {
	if len(r.Waits) == 0 {
		return ""
	}
	t := screen.NewTable(columns("runnable until running, after", 40, "count", "p50", "p99", "max")...)
	for _, w := range r.Waits {
		t.Row(append([]string{w.Cause}, spread(w.Spread)...)...)
	}
	return t.Print(on)
}

func blocks(on screen.Screen, r *trace.Report) string {
	t := screen.NewTable(columns("blocked", 62, "count", "total", "max")...)
	n := 0
	for _, k := range r.Blocks {
		if k.Idle || n == rows {
			continue
		}
		n++
		t.Row(report.Line(k.Reason)+": "+report.Line(k.Call), Count(k.Count), Time(k.TotalNS), Time(k.MaxNS))
	}
	if n == 0 {
		return ""
	}
	return t.Print(on)
}

func goroutines(on screen.Screen, r *trace.Report) string {
	t := screen.NewTable(columns("goroutines", 40, "existed", "created", "ended", "running", "runnable")...)
	for i, l := range r.Lives {
		if i == rows {
			break
		}
		t.Row(report.Line(l.Func), Count(l.Existed), Count(l.Created), Count(l.Ended), Time(l.RunningNS), Time(l.ReadyNS))
	}
	if len(r.Lives) == 0 {
		return ""
	}
	return t.Print(on)
}

func leaks(on screen.Screen, r *trace.Report) string {
	var b strings.Builder
	for i, l := range r.Leaks {
		if i == rows {
			break
		}
		b.WriteString(on.Paragraph("hint  ", "      ", fmt.Sprintf("%s of %s created by %s in the window and still blocked at its end, for at least %s: %s in %s",
			Count(l.Count), plural(l.Created, "goroutine"), report.Line(l.Func), Time(l.LeastNS), report.Line(l.Reason), report.Line(l.Call))))
	}
	return b.String()
}
