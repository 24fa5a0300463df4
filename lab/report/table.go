package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/redline-go/redline/lab/results"
)

// Format is a text format of [Table].
type Format int

const (
	Terminal      Format = iota // plain text of at most Width columns
	TerminalColor               // the same with ANSI colours
	Markdown                    // GitHub Flavored Markdown
)

// Width is the maximum number of columns of the terminal formats.
const Width = 100

// subjectWidth is the maximum number of columns of a subject's name.
const subjectWidth = 15

// stderrLines is the number of lines that are shown of a failed subject's standard error.
const stderrLines = 10

// Table writes f as text: notices, noise floors, tables of all workloads if there are many,
// a table for each workload, and the failed runs. It returns the errors of w, and an error
// for an unknown format.
func Table(w io.Writer, f *results.File, format Format) error {
	var t writer
	switch format {
	case Terminal, TerminalColor:
		t = &terminal{color: format == TerminalColor}
	case Markdown:
		t = &markdown{}
	default:
		return fmt.Errorf("write table: unknown format %d", format)
	}
	for _, n := range notices(f) {
		t.notice(n)
	}
	t.floors(noiseFloors(f))
	for _, m := range matrices(f) {
		t.matrix(m)
	}
	for _, load := range f.Workloads {
		rows := rowsOf(f, load)
		if len(rows) == 0 {
			continue
		}
		t.heading(title(load), describe(load))
		t.table(load, rows)
		t.notes(reasons(rows))
	}
	if failed := failures(f); len(failed) > 0 {
		t.failures(failed)
	}
	if _, err := w.Write(t.Bytes()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// writer writes the parts of a report in one format.
type writer interface {
	notice(notice)
	floors([]string)
	matrix(matrix)
	heading(title, description string)
	table(results.Workload, []row)
	notes([]string)
	failures([]failure)
	Bytes() []byte
}

// terminal writes plain text in fixed columns.
type terminal struct {
	bytes.Buffer
	color bool
}

// SGR codes of the terminal's colours.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

// paint colours each line of s separately: a cell may have two.
func (t *terminal) paint(sgr, s string) string {
	if !t.color || sgr == "" || s == "" {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = "\x1b[" + sgr + "m" + lines[i] + "\x1b[0m"
	}
	return strings.Join(lines, "\n")
}

// paragraph writes s, wrapped; the lines after the first are indented.
func (t *terminal) paragraph(sgr, s string) {
	const indent = "  "
	s = text.WrapSoft(s, Width-len(indent))
	for i, l := range strings.Split(s, "\n") {
		if i > 0 {
			l = indent + strings.TrimSpace(l)
		}
		t.WriteString(t.paint(sgr, strings.TrimRight(l, " ")) + "\n")
	}
}

func (t *terminal) notice(n notice) {
	sgr := red
	if n.Word != "Gate" {
		sgr = bold + ";" + red
	}
	t.paragraph(sgr, n.String())
}

func (t *terminal) floors(floors []string) {
	t.paragraph("", "A/A noise floor: "+strings.Join(floors, "; "))
}

func (t *terminal) heading(title, description string) {
	t.WriteString("\n")
	t.paragraph(bold, title)
	t.paragraph(dim, description)
}

func (t *terminal) table(w results.Workload, rows []row) {
	tab := table.NewWriter()
	tab.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: " ", MiddleHorizontal: "─", UnfinishedRow: "…"},
		Options: table.Options{SeparateHeader: true},
	})
	columns := columnsOf(w, true)
	head := table.Row{"subject"}
	configs := []table.ColumnConfig{{Number: 1, WidthMax: subjectWidth, WidthMaxEnforcer: snip}}
	for i, c := range columns {
		head = append(head, c.head)
		if !c.word {
			configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	tab.AppendHeader(head)
	tab.SetColumnConfigs(configs)
	for _, r := range rows {
		p := r.print("")
		out := table.Row{t.name(p)}
		for _, c := range columns {
			out = append(out, t.cell(c, p))
		}
		tab.AppendRow(out)
	}
	for l := range strings.Lines(tab.Render()) {
		t.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
}

func (t *terminal) name(p fields) string {
	if p.Role == roleFloor || p.Role == roleTwin {
		return t.paint(dim, snip(p.Subject, subjectWidth))
	}
	return t.paint(bold, snip(p.Subject, subjectWidth))
}

func (t *terminal) cell(c tableColumn, p fields) string {
	v, small, bound := c.of(p)
	switch {
	case c.word:
		return t.verdict(v)
	case bound:
		return v + "\n" + t.paint(red, small)
	case small != "":
		return v + "\n" + t.paint(dim, small)
	}
	return v
}

func (t *terminal) verdict(v string) string {
	switch v {
	case string(results.Faster):
		return t.paint(green, v)
	case string(results.Slower), "failed", tooSlow:
		return t.paint(red, v)
	}
	return v
}

func (t *terminal) notes(notes []string) {
	for _, n := range notes {
		t.paragraph(dim, n)
	}
}

func (t *terminal) failures(failed []failure) {
	t.WriteString("\n")
	t.paragraph(bold, "Failed runs")
	for _, f := range failed {
		t.paragraph(red, f.String())
		for _, l := range f.Stderr {
			t.WriteString(t.paint(dim, "  | "+snip(strings.ReplaceAll(l, "\t", "    "), Width-4)) + "\n")
		}
	}
}

// snip truncates s to width columns and marks the cut.
func snip(s string, width int) string { return text.Snip(s, width, "…") }
