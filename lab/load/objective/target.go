package objective

import (
	"fmt"
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

// cutTarget removes {TARGET} from an objective.
func cutTarget(text string) (target, rest string, err error) {
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
