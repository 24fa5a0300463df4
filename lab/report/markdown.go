package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/redline-go/redline/lab/results"
)

// markdown writes GitHub's dialect.
type markdown struct{ bytes.Buffer }

// markdownEscapes neutralises what would be markup in running text. The pipe is
// left to the table's renderer, which knows whether it stands in a cell.
var markdownEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "\\`", "*", "\\*", "[", "\\[", "]", "\\]", "\\", "\\\\", "~", "\\~",
)

func escape(s string) string { return markdownEscapes.Replace(s) }

func (m *markdown) notice(n notice) {
	fmt.Fprintf(m, "**%s**: %s\n\n", n.Word, escape(n.Text))
}

func (m *markdown) floors(floors []string) {
	fmt.Fprintf(m, "A/A noise floor: %s.\n", escape(strings.Join(floors, "; ")))
}

func (m *markdown) heading(title, description string) {
	fmt.Fprintf(m, "\n### %s\n\n%s\n\n", escape(title), escape(description))
}

func (m *markdown) table(w results.Workload, rows []row) {
	tab := table.NewWriter()
	head := headers(w)
	for i, h := range head {
		h := strings.NewReplacer("\n/", "/", "\n", " ").Replace(fmt.Sprint(h))
		head[i] = escape(h)
	}
	tab.AppendHeader(head)
	var configs []table.ColumnConfig
	for i := range head {
		if i != 0 && i != 4 {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight})
		}
	}
	tab.SetColumnConfigs(configs)
	for _, r := range rows {
		p := r.print(" ")
		rate := p.Rate
		if p.Bound {
			rate += " gen-bound"
		}
		tab.AppendRow(table.Row{
			escape(p.Subject), withInterval(p.CPU, p.CPUInterval), withInterval(p.Ratio, p.RatioInterval), p.Limit,
			p.Verdict, rate, p.P50, p.P99, p.P999, p.RSS, p.Allocs,
		})
	}
	m.WriteString(tab.RenderMarkdown() + "\n")
}

func withInterval(value, interval string) string {
	if interval == "" {
		return value
	}
	return value + " (" + interval + ")"
}

func (m *markdown) notes(notes []string) {
	for i, n := range notes {
		if i == 0 {
			m.WriteString("\n")
		}
		fmt.Fprintf(m, "- %s\n", escape(n))
	}
}

func (m *markdown) failures(failed []failure) {
	m.WriteString("\n### Failed runs\n")
	for _, f := range failed {
		fmt.Fprintf(m, "\n%s\n", escape(f.String()))
		if len(f.Stderr) == 0 {
			continue
		}
		tail := strings.Join(f.Stderr, "\n")
		fence := fenceFor(tail)
		fmt.Fprintf(m, "\n%stext\n%s\n%s\n", fence, tail, fence)
	}
}

// fenceFor returns a code fence that s does not close (CommonMark 0.31, 4.5):
// longer than any row of backticks in it.
func fenceFor(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence
}
