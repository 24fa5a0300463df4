package screen

import (
	"slices"
	"strings"
)

// nameLeast is the least width of a table's first column before the names take lines of
// their own.
const nameLeast = 16

// Column is a column of a [Table].
type Column struct {
	Head  string
	Width int  // when there is room; wider cells widen their row
	Left  bool // aligned to the left, as the first column always is
}

// Table is a table of one-line cells. When its columns do not fit the screen it becomes
// narrower: first the columns lose their spare width, then long names get lines of their own,
// then the columns are spread over several bands that each repeat the names.
//
//	          mean      p50      p99          name                            mean      p50
//	latency   1 ms     2 ms     3 ms          a long name of a target         1 ms     2 ms
//
//	                                          latency                          p99
//	                                          a long name of a target         3 ms
type Table struct {
	columns []Column
	rows    []row
}

// row is a line of cells, or a remark below one.
type row struct {
	cells  []string
	remark func(Screen) string
}

// NewTable returns a table with a head. The first column has the names of the rows.
func NewTable(columns ...Column) *Table {
	t := &Table{columns: columns}
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.Head
	}
	t.Row(head...)
	return t
}

// Row adds a row, with a cell for each column. Cells may have colours.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, row{cells: cells}) }

// Remark adds whole lines below the last row, laid out for the screen, which end with a line
// feed.
func (t *Table) Remark(lines func(Screen) string) { t.rows = append(t.rows, row{remark: lines}) }

// Print returns the table as text for a screen. Every line ends with a line feed.
func (t *Table) Print(s Screen) string {
	var b strings.Builder
	width := s.Columns()
	sizes := make([]int, len(t.columns))
	for i, c := range t.columns {
		sizes[i] = c.Width
	}
	if t.widest(sizes) <= width {
		t.band(&b, s, sizes, 1, len(sizes), true)
		return b.String()
	}
	sizes = t.natural()
	cells := sum(sizes[1:])
	switch {
	case sizes[0]+cells <= width:
		t.band(&b, s, sizes, 1, len(sizes), true)
	case cells <= width && width-cells < sizes[0] && sizes[0] > nameLeast:
		t.stack(&b, s, sizes)
	case len(sizes) == 1:
		t.stack(&b, s, sizes)
	default:
		sizes[0] = min(sizes[0], max(width/3, nameLeast), max(width-slices.Max(sizes[1:]), 1))
		t.bands(&b, s, sizes)
	}
	return b.String()
}

// widest returns the width of the widest row.
func (t *Table) widest(sizes []int) (widest int) {
	for _, r := range t.rows {
		all := 0
		for i, cell := range r.cells {
			all += max(sizes[i], Width(cell))
		}
		widest = max(widest, all)
	}
	return widest
}

// natural are the widths that the cells need, with the gaps between them.
func (t *Table) natural() []int {
	sizes := make([]int, len(t.columns))
	for _, r := range t.rows {
		for i, cell := range r.cells {
			sizes[i] = max(sizes[i], Width(cell))
		}
	}
	for i := 1; i < len(sizes); i++ {
		sizes[i] += 2
	}
	return sizes
}

// bands prints as many columns side by side as fit, and the rest below.
func (t *Table) bands(b *strings.Builder, s Screen, sizes []int) {
	for from := 1; from < len(sizes); {
		to, used := from+1, sizes[0]+sizes[from]
		for to < len(sizes) && used+sizes[to] <= s.Columns() {
			used += sizes[to]
			to++
		}
		if from > 1 {
			b.WriteString("\n")
		}
		t.band(b, s, sizes, from, to, to == len(sizes))
		from = to
	}
}

// band prints the names and the columns from one to another.
func (t *Table) band(b *strings.Builder, s Screen, sizes []int, from, to int, remarks bool) {
	for _, r := range t.rows {
		if r.remark != nil {
			if remarks {
				b.WriteString(r.remark(s))
			}
			continue
		}
		name := Snip(r.cells[0], sizes[0])
		line := name + spaces(sizes[0]-Width(name))
		for i := from; i < to; i++ {
			line += t.cell(i, r.cells[i], sizes[i])
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// stack prints each name on a line of its own, and the cells below it.
func (t *Table) stack(b *strings.Builder, s Screen, sizes []int) {
	indent := spaces(s.Columns() - sum(sizes[1:]))
	for i, r := range t.rows {
		if r.remark != nil {
			b.WriteString(r.remark(s))
			continue
		}
		line := ""
		for i := 1; i < len(sizes); i++ {
			line += t.cell(i, r.cells[i], sizes[i])
		}
		name := r.cells[0]
		if i == 0 && Width(name) <= len(indent) { // the head
			b.WriteString(strings.TrimRight(name+indent[Width(name):]+line, " ") + "\n")
			continue
		}
		if name != "" {
			b.WriteString(s.Paragraph("", "  ", name))
		}
		b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}

// cell aligns a cell.
func (t *Table) cell(column int, cell string, size int) string {
	gap := spaces(size - Width(cell))
	if t.columns[column].Left {
		return "  " + cell + spaces(size-2-Width(cell))
	}
	return gap + cell
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}
