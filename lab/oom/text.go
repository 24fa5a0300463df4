package oom

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
)

// Conclude sets the verdict.
func (r *Report) Conclude() {
	var all []string
	for i, one := range r.Runs {
		text := one.verdict()
		if len(r.Runs) > 1 {
			text = fmt.Sprintf("Run %d (%s): %s", i+1, one.adjustment(), text)
		}
		all = append(all, text)
	}
	if len(r.Runs) == 2 {
		all = append(all, compare(r.Runs[0], r.Runs[1]))
	}
	r.Verdict = strings.Join(all, " ")
}

func (r *Run) adjustment() string {
	if r.ScoreAdj == nil {
		return "oom_score_adj unchanged"
	}
	return fmt.Sprintf("oom_score_adj %d", *r.ScoreAdj)
}

// verdict is the outcome in one or two sentences.
func (r *Run) verdict() string {
	where := "before the first step"
	if n := len(r.Steps); n > 0 {
		where = fmt.Sprintf("in step %d, %s", n, r.Steps[n-1].Load)
	}
	text := ""
	switch {
	case r.Outcome == Held:
		text = fmt.Sprintf("The server held %s, up to %s.", steps(len(r.Steps)), r.Steps[len(r.Steps)-1].Load)
	case len(r.Kills) > 0:
		k := r.Kills[0]
		text = fmt.Sprintf("The kernel killed %s %s.", k.Process, where)
	case r.Outcome == Stopped:
		text = fmt.Sprintf("Redline ended the server %s, because no group bounds its memory.", where)
	default:
		text = fmt.Sprintf("The server ended %s: %s.", where, firstLine(r.How))
	}
	switch {
	case len(r.Signs) == 0:
	case slices.Contains([]string{SignKill, SignEnd, SignStop}, r.Signs[0].Kind):
		text += " Nothing gave way before."
	default:
		s := r.Signs[0]
		text += fmt.Sprintf(" First to give way, after %.1f s: %s.", s.T, s.Text)
	}
	return text
}

// compare says what another oom_score_adj changed.
func compare(a, b *Run) string {
	if len(a.Kills) == 0 || len(b.Kills) == 0 {
		if a.Outcome == b.Outcome {
			return "The adjustment changed nothing that could be seen: no process was killed in one of the runs."
		}
		return fmt.Sprintf("With the adjustment the outcome is %s instead of %s.", b.Outcome, a.Outcome)
	}
	x, y := a.Kills[0].Process, b.Kills[0].Process
	if x.Name == y.Name && x.Root == y.Root {
		return fmt.Sprintf("Within the group the adjustment did not change whom the kernel chose, %s: all processes of the command inherit it. For the machine, the score went from %s to %s.", x.who(), number(x.Score), number(y.Score))
	}
	return fmt.Sprintf("With the adjustment the kernel chose %s instead of %s.", y.who(), x.who())
}

func (p Process) who() string {
	if p.Root {
		return report.Line(p.Name) + ", the process that was started"
	}
	return report.Line(p.Name) + ", another process of the command"
}

// String returns the process in words.
func (p Process) String() string { return fmt.Sprintf("%s (pid %d)", p.who(), p.PID) }

// String returns the load in words.
func (l Load) String() string {
	text := fmt.Sprintf("%d connections", l.Connections)
	if l.Rate > 0 {
		text += fmt.Sprintf(", %.0f requests/s", l.Rate)
	}
	if l.Body > 0 {
		text += fmt.Sprintf(", bodies of %s", report.Bytes(float64(l.Body), " "))
	}
	return text
}

// Text writes the report for a terminal or a pipe.
func (r *Report) Text(w io.Writer, on screen.Screen) error {
	var b strings.Builder
	for _, one := range r.Runs {
		if !one.Valid {
			b.WriteString(on.Paint(screen.Loud, on.Paragraph("INVALID: ", "  ", report.Line(strings.Join(one.Why, "; ")))))
		}
	}
	if r.Partial != "" {
		b.WriteString(on.Paint(screen.Bad, on.Paragraph("PARTIAL: ", "  ", report.Line(r.Partial))))
	}
	b.WriteString(on.Paragraph("", "", r.Verdict))
	if text := r.disturbance(); text != "" {
		b.WriteString(on.Paint(screen.Bad, on.Paragraph("DISTURBED: ", "  ", report.Line(text))))
	}
	for i, one := range r.Runs {
		b.WriteString("\n")
		if len(r.Runs) > 1 {
			b.WriteString(on.Paint(screen.Bold, fmt.Sprintf("Run %d: %s\n", i+1, one.adjustment())))
		}
		one.text(&b, on)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// disturbance says in a sentence what the machine did to the steps, by the first of them; empty:
// nothing.
func (r *Report) disturbance() string {
	n, first := 0, ""
	for _, one := range r.Runs {
		for _, s := range one.Steps {
			if len(s.Disturbed) > 0 {
				n++
				first = cmp.Or(first, s.Disturbed[0])
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s (steps disturbed: %d): latencies are at most those here, and memory is what it is.", first, n)
}

func (r *Run) text(b *strings.Builder, on screen.Screen) {
	b.WriteString(on.Paragraph("limit: ", "  ", r.bound()))
	b.WriteString(r.table().Print(on))
	for _, s := range r.Signs {
		b.WriteString(on.Paragraph(fmt.Sprintf("  %6.1f s  ", s.T), "            ", fmt.Sprintf("step %d: %s", s.Step+1, report.Line(s.Text))))
	}
	b.WriteString(on.Paragraph("at the end: ", "  ", fmt.Sprintf("group %s (peak %s), RSS %s, heap live %s, goal %s",
		optional(r.Last.Group, size), peak(r.Peak), optional(r.Last.RSS, size), optional(r.Last.HeapLive, size), optional(r.Last.HeapGoal, size))))
	for _, p := range r.Members {
		killed := ""
		for _, k := range r.Kills {
			if k.PID == p.PID {
				killed = ", killed (" + k.Source + ")"
			}
		}
		b.WriteString(on.Paragraph("  process ", "    ", fmt.Sprintf("%s: RSS %s, oom_score %s, oom_score_adj %s%s", p, size(float64(p.RSS)), number(p.Score), number(p.Adj), killed)))
	}
	for _, text := range r.Missing {
		b.WriteString(on.Paint(screen.Dim, on.Paragraph("  not seen: ", "    ", report.Line(text))))
	}
}

// table returns the steps. Columns of what no step asks for are left out.
func (r *Run) table() *screen.Table {
	type column struct {
		head  string
		width int
		cell  func(i int, s *Step) string
	}
	figure := func(head string, of func(*Step) *float64, format func(float64) string) column {
		return column{head, 10, func(_ int, s *Step) string { return optional(of(s), format) }}
	}
	columns := []column{
		{"step", 4, func(i int, _ *Step) string { return fmt.Sprint(i + 1) }},
		{"conns", 7, func(_ int, s *Step) string { return fmt.Sprint(s.Connections) }},
	}
	if len(r.Steps) > 0 && r.Steps[0].Rate > 0 {
		columns = append(columns, column{"asked/s", 9, func(_ int, s *Step) string { return report.PerSecond(s.Rate) }})
	}
	if len(r.Steps) > 0 && r.Steps[0].Body > 0 {
		columns = append(columns, column{"body", 10, func(_ int, s *Step) string { return size(float64(s.Body)) }})
	}
	columns = append(
		columns,
		figure("req/s", func(s *Step) *float64 { return s.Done }, report.PerSecond),
		figure("p99", func(s *Step) *float64 { return s.P99 }, micros),
		figure("errors", func(s *Step) *float64 { return s.Errors }, report.Share),
		figure("group", func(s *Step) *float64 { return s.Most.Group }, size),
		figure("RSS", func(s *Step) *float64 { return s.Most.RSS }, size),
		figure("live", func(s *Step) *float64 { return s.Most.HeapLive }, size),
		figure("goal", func(s *Step) *float64 { return s.Most.HeapGoal }, size),
		figure("GC", func(s *Step) *float64 { return s.Most.GC }, report.Share),
	)
	var heads []screen.Column
	for _, c := range columns {
		heads = append(heads, screen.Column{Head: c.head, Width: c.width})
	}
	t := screen.NewTable(heads...)
	for i := range r.Steps {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.cell(i, &r.Steps[i]))
		}
		t.Row(cells...)
	}
	return t
}

// bound says what bounds the memory.
func (r *Run) bound() string {
	text := "none; there is no control group"
	if r.Limit > 0 {
		text = fmt.Sprintf("%s, control group %s", size(float64(r.Limit)), r.Group)
	}
	if r.GoLimit > 0 {
		text += ", GOMEMLIMIT " + size(float64(r.GoLimit))
	}
	return text + ", resident before the load " + size(float64(r.Start))
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

func size(v float64) string   { return report.Bytes(v, " ") }
func micros(v float64) string { return report.Micros(v, " ") }

func optional(v *float64, format func(float64) string) string {
	if v == nil {
		return "-"
	}
	return format(*v)
}

func peak(v *int64) string {
	if v == nil {
		return "-"
	}
	return size(float64(*v))
}

func number(v *int) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(*v)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
