package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/redline-go/redline/lab/results"
)

// markdown writes GitHub Flavored Markdown.
type markdown struct{ bytes.Buffer }

// markdownEscapes escapes markup in running text. The table's renderer escapes pipes in
// cells.
var markdownEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "\\`", "*", "\\*", "[", "\\[", "]", "\\]", "\\", "\\\\", "~", "\\~",
)

func escape(s string) string { return markdownEscapes.Replace(s) }

func (m *markdown) notice(n notice) {
	fmt.Fprintf(m, "**%s**: %s\n\n", n.Word, escape(n.Text))
}

func (m *markdown) summary(results []string, disturbed string) {
	for _, r := range results {
		fmt.Fprintf(m, "- %s\n", escape(r))
	}
	m.WriteString("\n")
	if disturbed != "" {
		fmt.Fprintf(m, "%s\n\n", escape(disturbed))
	}
}

func (m *markdown) floors(floors []string) {
	fmt.Fprintf(m, "A/A noise floor: %s.\n", escape(strings.Join(floors, "; ")))
}

func (m *markdown) heading(title, description string) {
	fmt.Fprintf(m, "\n### %s\n\n%s\n\n", escape(title), escape(description))
}

func (m *markdown) table(w results.Workload, rows []row) {
	tab := table.NewWriter()
	columns := columnsOf(w, rows, true)
	head := table.Row{"subject"}
	var configs []table.ColumnConfig
	for i, c := range columns {
		head = append(head, escape(strings.NewReplacer("\n/", "/", "\n", " ").Replace(c.head)))
		if !c.word {
			configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight})
		}
	}
	tab.AppendHeader(head)
	tab.SetColumnConfigs(configs)
	for _, r := range rows {
		p := r.print(" ")
		out := table.Row{escape(p.Subject)}
		for _, c := range columns {
			value, small, bound := c.of(p)
			if c.grey(p) {
				value = escape(mark) + value
			}
			switch {
			case bound:
				value += " " + small
			case small != "":
				value += " (" + small + ")"
			}
			out = append(out, value)
		}
		tab.AppendRow(out)
	}
	m.WriteString(tab.RenderMarkdown() + "\n")
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

// fenceFor returns a code fence that s does not close (CommonMark 0.31, 4.5): it is longer
// than any sequence of backticks in s.
func fenceFor(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence
}
