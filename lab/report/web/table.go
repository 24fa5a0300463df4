package web

import (
	"strconv"
	"strings"
)

// Table is a sortable table of a page.
type Table struct {
	Caption string
	Heads   []Head
	Rows    [][]Cell
}

// Head is the heading of a column.
type Head struct {
	Text   string
	Number bool
}

// Cell is a cell: its text, and for numbers the value by which it is sorted.
type Cell struct {
	Text   string
	Value  string // shortest decimal form; empty for none
	Class  string // CSS class of a cell of text; empty for none
	Number bool
}

// Heads returns the headings of a table; names of columns of numbers end in "#".
func Heads(names ...string) []Head {
	out := make([]Head, len(names))
	for i, n := range names {
		name, number := strings.CutSuffix(n, "#")
		out[i] = Head{name, number}
	}
	return out
}

// Number returns a cell that shows text and is sorted by v.
func Number(v float64, text string) Cell {
	return Cell{Text: text, Value: strconv.FormatFloat(v, 'g', -1, 64), Number: true}
}
