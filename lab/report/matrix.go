package report

import (
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// manyWorkloads is the number of workloads from which the report begins with tables of all
// workloads.
const manyWorkloads = 4

// matrix is a table of one figure, with a row per workload and a column per subject.
type matrix struct {
	caption  string
	subjects []string
	rows     []matrixRow
}

type matrixRow struct {
	workload string
	cells    []matrixCell
}

// matrixCell is a figure, and a small text after or below it.
type matrixCell struct{ value, small string }

// matrices returns the tables of all workloads: CPU per request and response time. With
// few workloads there are none.
func matrices(f *results.File) []matrix {
	loads := slices.DeleteFunc(slices.Clone(f.Workloads), func(w results.Workload) bool { return w.Idle })
	if len(loads) < manyWorkloads {
		return nil
	}
	return []matrix{
		newMatrix(f, loads, "CPU of the server, µs per request or event (× "+Line(f.Config.Baseline)+", × limit)", cpuCell),
		newMatrix(f, loads, "Response time, p50 (p99)", latencyCell),
	}
}

func newMatrix(f *results.File, loads []results.Workload, caption string, cell func(*row) matrixCell) matrix {
	m := matrix{caption: caption}
	for _, s := range f.Subjects {
		if s.Role != roleTwin {
			m.subjects = append(m.subjects, s.Name)
		}
	}
	for _, w := range loads {
		rows := rowsBy(f, w, byCPU(w))
		out := matrixRow{workload: Line(w.Name)}
		for _, subject := range m.subjects {
			c := matrixCell{value: none}
			if slices.Contains(w.NotServed, subject) {
				c.value = "not served"
			}
			if i := slices.IndexFunc(rows, func(r row) bool { return r.Name == subject }); i >= 0 {
				c = cell(&rows[i])
			}
			out.cells = append(out.cells, c)
		}
		m.rows = append(m.rows, out)
	}
	for i, s := range m.subjects {
		m.subjects[i] = Line(s)
	}
	return m
}

// cpuCell returns the CPU of a row, with its ratios to the baseline and to limit.
func cpuCell(r *row) matrixCell {
	if v := r.verdict(); v == tooSlow || v == "failed" {
		return matrixCell{value: v}
	}
	p := r.print("")
	if p.Ratio == none && p.Limit == none {
		return matrixCell{value: p.CPU}
	}
	return matrixCell{p.CPU, p.Ratio + ", " + p.Limit}
}

// latencyCell returns the response times of a row.
func latencyCell(r *row) matrixCell {
	if v := r.verdict(); v == tooSlow || v == "failed" {
		return matrixCell{value: v}
	}
	p := r.print("")
	return matrixCell{p.P50, p.P99}
}

// matrixColumns is the number of subjects side by side on a terminal.
const matrixColumns = 6

func (t *terminal) matrix(m matrix) {
	t.WriteString("\n")
	t.paragraph(screen.Bold, m.caption)
	t.bands(len(m.subjects), matrixColumns, func(from, to int) table.Writer {
		head := table.Row{"workload"}
		for _, s := range m.subjects[from:to] {
			head = append(head, snip(s, 12))
		}
		tab := newTerminalTable(head, make([]bool, to-from))
		for _, r := range m.rows {
			out := table.Row{r.workload}
			for _, c := range r.cells[from:to] {
				value := c.value
				if c.small != "" {
					value += "\n" + t.screen.Paint(screen.Dim, c.small)
				}
				out = append(out, value)
			}
			tab.AppendRow(out)
		}
		return tab
	})
}

func (m *markdown) matrix(x matrix) {
	m.WriteString("\n### " + escape(x.caption) + "\n\n")
	tab := table.NewWriter()
	head := table.Row{"workload"}
	var configs []table.ColumnConfig
	for i, s := range x.subjects {
		head = append(head, escape(s))
		configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight})
	}
	tab.AppendHeader(head)
	tab.SetColumnConfigs(configs)
	for _, r := range x.rows {
		out := table.Row{escape(r.workload)}
		for _, c := range r.cells {
			value := c.value
			if c.small != "" {
				value += " (" + c.small + ")"
			}
			out = append(out, escape(value))
		}
		tab.AppendRow(out)
	}
	m.WriteString(tab.RenderMarkdown() + "\n")
}
