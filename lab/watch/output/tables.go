package output

import (
	"fmt"
	"strings"

	"github.com/redline-go/redline/lab/watch"
)

// FigureTable returns the table of all figures in Markdown, for docs/watch.md.
func FigureTable() string {
	var b strings.Builder
	b.WriteString("| figure | unit | source | meaning |\n|---|---|---|---|\n")
	for _, f := range watch.Figures() {
		kind := ""
		if f.Counter {
			kind = ", rate"
		}
		fmt.Fprintf(&b, "| `%s` | %s%s | %s | %s |\n", f.Name, f.Unit, kind, f.Source, f.Meaning)
	}
	return b.String()
}

// MarkTable returns the table of all marks in Markdown, for docs/watch.md.
func MarkTable() string {
	var b strings.Builder
	b.WriteString("| mark | limit | meaning | needs |\n|---|---|---|---|\n")
	for _, m := range watch.Marks() {
		beyond := "more than"
		if m.Below {
			beyond = "less than"
		}
		fmt.Fprintf(&b, "| `%s` | %s %v %s | %s | `%s` |\n", m.Name, beyond, m.Limit, m.Unit, m.Meaning, strings.Join(m.Needs, "`, `"))
	}
	return b.String()
}
