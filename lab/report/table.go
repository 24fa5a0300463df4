package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// Format is a text format of [Table].
type Format int

const (
	Terminal Format = iota // text in the columns and the colours of a screen
	Markdown               // GitHub Flavored Markdown
)

// subjectWidth is the maximum number of columns of a subject's name; buildWidth is that of one
// with the version of its toolchain at the end.
const (
	subjectWidth = 15
	buildWidth   = 26
)

// stderrLines is the number of lines that are shown of a failed subject's standard error.
const stderrLines = 10

// Table writes f as text: the results in words, what disturbed them, notices, noise floors, tables of
// all workloads if there are many, a table for each workload, and the failed runs; with gates also
// those that runs failed. It returns the errors of w, and an error for an unknown format.
func Table(w io.Writer, f *results.File, format Format, s screen.Screen, gates bool) error {
	var t writer
	switch format {
	case Terminal:
		t = &terminal{screen: s}
	case Markdown:
		t = &markdown{}
	default:
		return fmt.Errorf("write table: unknown format %d", format)
	}
	for _, n := range doubts(f) {
		t.notice(n)
	}
	t.summary(summary(f), disturbances(f))
	for _, n := range slices.Concat(gaps(f), remarks(f)) {
		t.notice(n)
	}
	if gates {
		for _, n := range gateNotices(f.Runs) {
			t.notice(n)
		}
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
		t.notes(reasons(load, rows))
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
	summary(results []string, disturbed string)
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
	screen screen.Screen
}

// paragraph writes s, wrapped; the lines after the first are indented.
func (t *terminal) paragraph(style screen.Style, s string) {
	t.WriteString(t.screen.Paint(style, t.screen.Paragraph("", "  ", s)))
}

func (t *terminal) notice(n notice) {
	style := screen.Loud
	switch n.Word {
	case "Gate":
		style = screen.Bad
	case "NOTE":
		style = screen.Dim
	}
	t.paragraph(style, n.String())
}

func (t *terminal) summary(results []string, disturbed string) {
	for _, r := range results {
		t.paragraph(screen.Bold, r)
	}
	if disturbed != "" {
		t.paragraph("", disturbed)
	}
}

func (t *terminal) floors(floors []string) {
	t.paragraph(screen.Dim, "A/A noise floor: "+strings.Join(floors, "; "))
}

func (t *terminal) heading(title, description string) {
	t.WriteString("\n")
	t.paragraph(screen.Bold, title)
	t.paragraph(screen.Dim, description)
}

func (t *terminal) table(w results.Workload, rows []row) {
	columns := columnsOf(w, rows, true)
	t.bands(len(columns), len(columns), func(from, to int) table.Writer {
		head := table.Row{"subject"}
		var words []bool
		for _, c := range columns[from:to] {
			head, words = append(head, c.head), append(words, c.word)
		}
		tab := newTerminalTable(head, words)
		for _, r := range rows {
			p := r.print("")
			out := table.Row{t.name(p)}
			for _, c := range columns[from:to] {
				out = append(out, t.cell(c, p))
			}
			tab.AppendRow(out)
		}
		return tab
	})
}

// newTerminalTable returns a table with a head and no frame. words are the columns after the
// first that are not numbers.
func newTerminalTable(head table.Row, words []bool) table.Writer {
	tab := table.NewWriter()
	tab.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: " ", MiddleHorizontal: "─", UnfinishedRow: "…"},
		Options: table.Options{SeparateHeader: true},
	})
	configs := []table.ColumnConfig{{Number: 1, WidthMax: buildWidth, WidthMaxEnforcer: snip}}
	for i, word := range words {
		if !word {
			configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	tab.AppendHeader(head)
	tab.SetColumnConfigs(configs)
	return tab
}

// bands writes a table of n columns, as many side by side as fit and at most so many, and the
// others below. of returns the table with the columns from one to another.
func (t *terminal) bands(n, most int, of func(from, to int) table.Writer) {
	for from := 0; from < n; {
		to := min(from+most, n)
		text := of(from, to).Render()
		for to > from+1 && !t.fits(text) {
			to--
			text = of(from, to).Render()
		}
		if from > 0 && t.screen.Columns() < screen.Usual {
			t.WriteString("\n")
		}
		for l := range strings.Lines(text) {
			t.WriteString(strings.TrimRight(l, " \n") + "\n")
		}
		from = to
	}
}

// fits reports whether no line is wider than the screen.
func (t *terminal) fits(text string) bool {
	for l := range strings.Lines(text) {
		if screen.Width(strings.TrimRight(l, " \n")) > t.screen.Columns() {
			return false
		}
	}
	return true
}

func (t *terminal) name(p fields) string {
	name, width := p.Subject, subjectWidth
	if p.Built {
		width = buildWidth
	}
	if p.Role == roleFloor || p.Role == roleTwin {
		return t.screen.Paint(screen.Dim, snip(name, width))
	}
	return t.screen.Paint(screen.Bold, snip(name, width))
}

func (t *terminal) cell(c tableColumn, p fields) string {
	v, small, bound := c.of(p)
	if c.grey(p) {
		v = t.screen.Paint(screen.Dim, mark+v)
	}
	switch {
	case c.word && small != "":
		return t.verdict(v) + "\n" + t.screen.Paint(screen.Dim, small)
	case c.word:
		return t.verdict(v)
	case bound:
		return v + "\n" + t.screen.Paint(screen.Bad, small)
	case small != "":
		return v + "\n" + t.screen.Paint(screen.Dim, small)
	}
	return v
}

func (t *terminal) verdict(v string) string {
	switch v {
	case string(results.Faster):
		return t.screen.Paint(screen.Good, v)
	case string(results.Slower), "failed", tooSlow:
		return t.screen.Paint(screen.Bad, v)
	case string(results.TooDisturbed):
		return t.screen.Paint(screen.Dim, v)
	}
	return v
}

func (t *terminal) notes(notes []string) {
	for _, n := range notes {
		t.paragraph(screen.Dim, n)
	}
}

func (t *terminal) failures(failed []failure) {
	t.WriteString("\n")
	t.paragraph(screen.Bold, "Failed runs")
	for _, f := range failed {
		t.paragraph(screen.Bad, f.String())
		for _, l := range f.Stderr {
			t.WriteString(t.screen.Paint(screen.Dim, "  | "+snip(strings.ReplaceAll(l, "\t", "    "), t.screen.Columns()-4)) + "\n")
		}
	}
}

// snip truncates s to width columns and marks the cut.
func snip(s string, width int) string { return screen.Snip(s, width) }
