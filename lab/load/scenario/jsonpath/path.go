package jsonpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path is a compiled path. It is immutable and safe for concurrent use.
type Path struct {
	text  string
	steps []step
}

type step struct {
	name  string
	index int
	array bool // the step is an index, not a name
}

// Parse compiles a path. Its errors say what to write instead.
func Parse(text string) (Path, error) {
	p := Path{text: text}
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return Path{}, fmt.Errorf("path %q does not begin with $; write $.name for a member of the top level, $[0] for an element", text)
	}
	for rest != "" {
		var s step
		var err error
		if rest[0] == '.' {
			s, rest, err = member(rest[1:])
		} else {
			s, rest, err = bracket(rest)
		}
		if err != nil {
			return Path{}, fmt.Errorf("path %q: %w", text, err)
		}
		p.steps = append(p.steps, s)
	}
	return p, nil
}

// member parses a name after a dot.
func member(rest string) (step, string, error) {
	end := strings.IndexAny(rest, ".[]'\"* ?()")
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return step{}, "", errors.New("a dot is followed by a name; write other names in brackets, ['first name']; wildcards, descents and filters are not supported")
	}
	return step{name: rest[:end]}, rest[end:], nil
}

// bracket parses [0], [-1], ['name'] or ["name"].
func bracket(rest string) (step, string, error) {
	if rest[0] != '[' {
		return step{}, "", fmt.Errorf("%q is not .name, [0] or ['name']", rest)
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		end := strings.Index(rest[1:], rest[:1]+"]")
		if end < 0 {
			return step{}, "", fmt.Errorf("the name in brackets does not end in %s]", rest[:1])
		}
		return step{name: rest[1 : 1+end]}, rest[end+3:], nil
	}
	number, rest, ok := strings.Cut(rest, "]")
	index, err := strconv.Atoi(number)
	if !ok || err != nil {
		return step{}, "", fmt.Errorf("[%s: brackets contain a whole number or a quoted name; wildcards, slices and filters are not supported", number)
	}
	return step{index: index, array: true}, rest, nil
}

// String returns the path as written.
func (p Path) String() string { return p.text }

// Find returns the value at the path in doc. The value refers to doc. If members have the
// same name, the first one is used.
func (p Path) Find(doc []byte) (Value, bool) {
	at := space(doc, 0)
	for i := range p.steps {
		s := &p.steps[i]
		var ok bool
		if s.array {
			at, ok = element(doc, at, s.index)
		} else {
			at, ok = find(doc, at, s.name)
		}
		if !ok {
			return Value{}, false
		}
	}
	end, ok := skip(doc, at)
	if !ok {
		return Value{}, false
	}
	return value(doc[at:end])
}
