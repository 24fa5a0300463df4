package web

import (
	"strconv"
	"strings"
)

// Table is a table of a page that can be sorted.
type Table struct {
	Caption string
	Heads   []Head
	Rows    [][]Cell
}

// Head is the head of a column.
type Head struct {
	Text   string
	Number bool
}

// Cell is a cell: its text, and for numbers what it sorts by.
type Cell struct {
	Text   string
	Value  string // shortest decimal form; empty for none
	Class  string // of words; empty for none
	Number bool
}

// Heads makes the heads of a table; the name of a column of numbers ends in "#".
func Heads(names ...string) []Head {
	out := make([]Head, len(names))
	for i, n := range names {
		name, number := strings.CutSuffix(n, "#")
		out[i] = Head{name, number}
	}
	return out
}

// Number is a cell that sorts by v and shows text.
func Number(v float64, text string) Cell {
	return Cell{Text: text, Value: strconv.FormatFloat(v, 'g', -1, 64), Number: true}
}
