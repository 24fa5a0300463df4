package rivals

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/rivals/scripted"
)

var titles = map[string]string{
	Plain:     "64 connections, one request in flight on each",
	Pipelined: "64 connections, 16 requests in flight on each",
	HTTP2:     "HTTP/2 over TLS, 32 connections, 16 streams on each",
}

// grid is a table of a result: on a terminal in its columns, elsewhere in Markdown.
type grid struct {
	title string
	heads []string
	rows  [][]string // a row that failed has two cells
	notes []string
}

// Markdown writes the tables for a document.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.describe() + "\n")
	for _, g := range r.grids() {
		fmt.Fprintf(&b, "\n**%s**\n\n", g.title)
		if len(g.rows) > 0 {
			b.WriteString("| " + strings.Join(g.heads, " | ") + " |\n" + strings.Repeat("|---", len(g.heads)) + "|\n")
		}
		for _, cells := range g.rows {
			for _, c := range cells {
				b.WriteString(strings.TrimRight("| "+c, " ") + " ")
			}
			b.WriteString(strings.Repeat("| ", len(g.heads)-len(cells)) + "|\n")
		}
		for i, n := range g.notes {
			if i > 0 || len(g.rows) > 0 {
				b.WriteString("\n")
			}
			b.WriteString(n + "\n")
		}
	}
	for i, s := range r.Skipped {
		if i == 0 {
			b.WriteString("\nLeft out:\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Print writes the tables for a terminal. It returns the errors of w.
func (r *Result) Print(w io.Writer, s screen.Screen) error {
	var b strings.Builder
	b.WriteString(s.Paragraph("", "  ", r.describe()))
	for _, g := range r.grids() {
		b.WriteString("\n" + s.Paint(screen.Bold, s.Paragraph("", "  ", g.title)))
		if len(g.rows) > 0 {
			b.WriteString(g.print(s))
		}
		for _, n := range g.notes {
			style := screen.Style("")
			if strings.HasPrefix(n, "INVALID") {
				style = screen.Bad
			}
			b.WriteString(s.Paint(style, s.Paragraph("", "  ", n)))
		}
	}
	for i, skipped := range r.Skipped {
		if i == 0 {
			b.WriteString("\nLeft out:\n")
		}
		b.WriteString(s.Paragraph("- ", "  ", skipped))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// print returns the rows in the columns of a screen.
func (g *grid) print(s screen.Screen) string {
	var columns []screen.Column
	for _, h := range g.heads {
		columns = append(columns, screen.Column{Head: h, Width: screen.Width(h) + 2})
	}
	columns[0].Width = screen.Width(g.heads[0])
	table := screen.NewTable(columns...)
	for _, cells := range g.rows {
		row := make([]string, len(g.heads))
		for i, c := range cells {
			row[i] = strings.Trim(c, "*")
		}
		if row[1] == failed {
			row[1] = s.Paint(screen.Bad, failed)
		}
		table.Row(row...)
	}
	return table.Print(s)
}

// describe says what was compared.
func (r *Result) describe() string {
	var tools []string
	for _, t := range r.Tools {
		tools = append(tools, t.Name+" "+t.Version)
	}
	return fmt.Sprintf("%s; rounds: %d, of %s, in random order; a generator and a server have a CPU each. %s, Linux %s, sockets with %s, %s.",
		strings.Join(tools, ", "), r.Rounds, report.Seconds(r.Window), r.Machine.CPU, r.Machine.Kernel, r.Machine.Congestion, r.Started.Format("2006-01-02"))
}

func (r *Result) grids() (all []grid) {
	for _, t := range r.Tables {
		all = append(all, t.grid())
	}
	if r.True != nil {
		all = append(all, r.truth())
	}
	return all
}

// failed stands for the figures of a tool that made none.
const failed = "failed"

func (t *Table) grid() grid {
	g := grid{title: titles[t.Workload]}
	if len(t.Rows) == 0 {
		g.notes = []string{"No tool could make this load."}
		return g
	}
	of := ""
	if t.Base != "" {
		of = " " + t.Base
	}
	g.heads = []string{"generator", "requests/s (range)", "×" + of, "its CPU a request", "requests/s of a core", "×" + of, "it reports", "CPU, the server's"}
	for _, r := range t.Rows {
		if r.Rounds == 0 {
			g.rows = append(g.rows, []string{r.Tool, failed})
			continue
		}
		name := r.Tool
		if r.Failed > 0 {
			name += fmt.Sprintf(" (failed %d of %d)", r.Failed, r.Failed+r.Rounds)
		}
		own := report.PerSecond(r.Own)
		if r.Errors > 0 {
			own += fmt.Sprintf(", %d errors", r.Errors)
		}
		g.rows = append(g.rows, []string{
			name, fmt.Sprintf("%s (%s–%s)", report.PerSecond(r.Rate.Median), report.PerSecond(r.Rate.Low), report.PerSecond(r.Rate.High)),
			times(r.RateOf), report.Micros(r.PerCall.Median, " "), report.PerSecond(r.PerCore.Median), times(r.PerCoreOf), own,
			fmt.Sprintf("%.0f %%, %.0f %%", r.CPU*100, r.ServerCPU*100),
		})
	}
	g.notes = t.warnings()
	return g
}

// warnings name the rows whose rate is not valid.
func (t *Table) warnings() []string {
	var names []string
	for _, r := range t.Rows {
		if r.disturbed() {
			names = append(names, r.Tool)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("INVALID rates: %s. Neither CPU was %.0f %% busy, so something else used them or limited the rate.",
		strings.Join(names, ", "), fullCPU*100)}
}

// truth returns the table of the server that stalls.
func (r *Result) truth() grid {
	g := grid{
		title: fmt.Sprintf("%s requests/s, a server that answers in %s and once stalls for %s",
			report.PerSecond(r.True.Rate), report.Micros(float64(scripted.Service.Microseconds()), " "), report.Seconds(r.Stall)),
		heads: []string{"generator", "requests", "p50", "off by", "p99", "off by", "max", "off by"},
		rows:  [][]string{{"*what users see*", fmt.Sprint(r.True.Requests), ms(r.True.P50), "", ms(r.True.P99), "", ms(r.True.Max), ""}},
	}
	var late []string
	for _, v := range r.Truths {
		if v.tardy() {
			late = append(late, v.Tool+" "+report.Percent(v.Late))
		}
		name := v.Tool
		if v.Note != "" {
			name += " (" + v.Note + ")"
		}
		if v.Fails != "" {
			g.rows = append(g.rows, []string{name, failed})
			continue
		}
		p := v.Reported
		g.rows = append(g.rows, []string{
			name, fmt.Sprintf("%.0f", v.Sent), ms(p.P50), percent(v.P50), ms(p.P99), percent(v.P99), ms(p.Max), percent(v.Max),
		})
	}
	if len(late) > 0 {
		g.notes = []string{fmt.Sprintf("INVALID: the server itself was more than %s late with too many answers: %s.",
			report.Micros(float64(scripted.TooLate.Microseconds()), " "), strings.Join(late, ", "))}
	}
	return g
}

func times(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", *x)
}

// ms prints a time that is given in milliseconds.
func ms(x *float64) string {
	if x == nil {
		return report.Quantile(nil, " ")
	}
	return report.Micros(*x*1e3, " ")
}

func percent(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", *x*100)
}
