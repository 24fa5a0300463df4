package archtest

import (
	"fmt"
	"strings"
)

// Table is the import table as Markdown, for docs/ARCHITECTURE.md: a line each row, in the
// order in which the first that matches a package is its own.
func (r Rules) Table() string {
	var b strings.Builder
	b.WriteString("| package | may import, besides the standard library | because |\n| --- | --- | --- |\n")
	for _, row := range r.Rows {
		may := patterns(row.May)
		if may == "" {
			may = "nothing"
		}
		if len(row.Never) > 0 {
			may += "; of the standard library not " + patterns(row.Never)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", pattern(row.Package), may, row.Why)
	}
	return b.String()
}

// patterns lists import patterns in words.
func patterns(list []string) string {
	var all []string
	for _, p := range list {
		all = append(all, pattern(p))
	}
	return strings.Join(all, ", ")
}

func pattern(p string) string {
	switch p {
	case "*":
		return "any third party"
	case "~":
		return "the root package"
	}
	return "`" + strings.TrimPrefix(p, "~/") + "`"
}
