package objective

import (
	"fmt"
	"strings"
)

// split cuts at commas, but not within braces: the names of targets may have them.
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

// cutTarget takes {TARGET} out of an objective.
func cutTarget(text string) (target, rest string, err error) {
	open, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if open < 0 && end < 0 {
		return "", text, nil
	}
	if open < 0 || end < open {
		return "", "", fmt.Errorf("%q: write the name of a target in braces behind the figure, as p99{checkout}<50ms", text)
	}
	if target = text[open+1 : end]; target == "" {
		return "", "", fmt.Errorf("%q: there is no name in the braces; write one, as p99{checkout}<50ms, or leave them out", text)
	}
	return target, text[:open] + text[end+1:], nil
}

// of are the figures that the objective is about.
func (o Objective) of(f Figures) Figures {
	if o.Target == "" {
		return f
	}
	return f.Targets[o.Target]
}
