package objective

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// split splits at commas outside braces: the names of targets may contain commas.
func split(text string) (parts []string) {
	depth, begin := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			parts, begin = append(parts, text[begin:i]), i+1
		}
	}
	return append(parts, text[begin:])
}

// cutTarget removes the name of a target from an objective: NAME: before the figure, up to
// the last colon; or {NAME} after it, which any name can be written in.
func cutTarget(text string) (target, rest string, err error) {
	figure := text[:max(0, strings.LastIndexAny(text, "<>"))]
	if colon := strings.LastIndexByte(figure, ':'); colon >= 0 && !strings.HasSuffix(strings.TrimSpace(figure), "}") {
		if target = strings.TrimSpace(text[:colon]); target == "" {
			return "", "", fmt.Errorf("%q: there is no name before the colon; write one, as checkout: p99<50ms, or leave the colon out", text)
		}
		return target, text[colon+1:], nil
	}
	open, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if open < 0 && end < 0 {
		return "", text, nil
	}
	if open < 0 || end < open {
		return "", "", fmt.Errorf("%q: write the name of a target in braces after the figure, as p99{checkout}<50ms", text)
	}
	if target = text[open+1 : end]; target == "" {
		return "", "", fmt.Errorf("%q: there is no name in the braces; write one, as p99{checkout}<50ms, or leave them out", text)
	}
	return target, text[:open] + text[end+1:], nil
}

// unknown returns the error for an unknown metric.
func unknown(metric string) error {
	for i := 1; i < len(metric); i++ {
		if name, figure := metric[:i], metric[i+1:]; metric[i] == '.' && (ofTimes(figure) || figure == "errors" || figure == "rate") {
			return fmt.Errorf("%q is not a figure of a load: for a target %s write %[2]s: %s", metric, name, figure)
		}
	}
	if strings.HasPrefix(metric, "p") && strings.Trim(metric[1:], "0123456789.") == "" {
		return fmt.Errorf("%q is not a percentile: write one above p0 and up to p99.9999, or max", metric)
	}
	return fmt.Errorf("%q is not a figure of a load: %s", metric, Grammar)
}

// Nearest sorts names by their distance from a misspelt one, and returns at most n of them.
func Nearest(misspelt string, names []string, n int) []string {
	type candidate struct {
		name     string
		distance int
	}
	list := make([]candidate, len(names))
	for i, name := range names {
		list[i] = candidate{name, distance(fold(misspelt), fold(name))}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range list[:min(n, len(list))] {
		out = append(out, c.name)
	}
	return out
}

// longest is the number of characters of a name that are compared.
const longest = 100

// fold normalizes the spelling of a name.
func fold(name string) []rune {
	runes := []rune(strings.ToLower(name))
	return runes[:min(len(runes), longest)]
}

// distance returns the number of characters to insert, delete or replace to change a to b.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before := row[0] // in the row above, one to the left
		row[0] = i + 1
		for j := range b {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

// of returns the figures that the objective is about.
func (o Objective) of(f Figures) Figures {
	if o.Target != "" {
		f = f.Targets[o.Target]
	}
	if o.Iterations() {
		return f.Iterations.figures()
	}
	return f
}
