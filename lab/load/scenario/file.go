package scenario

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// top is the name of the file as a whole in messages.
const top = "scenario"

// The types of this file define the format: a tag is a key. docs/scenario.schema.json
// describes the same format for editors.

type file struct {
	Base      text            `key:"base"`
	Order     text            `key:"order"`
	Defaults  defaults        `key:"defaults"`
	Variables named[variable] `key:"variables"`
	Setup     []step          `key:"setup"`
	Targets   []target        `key:"targets"`
	Flows     []flow          `key:"flows"`
	Scenarios []section       `key:"scenarios"`
}

type defaults struct {
	Headers fields  `key:"headers"`
	Checks  []check `key:"checks"`
	Think   text    `key:"think"`
	Tags    tags    `key:"tags"`
}

type step struct {
	Line     int
	Name     text           `key:"name"`
	Method   text           `key:"method"`
	URL      text           `key:"url"`
	Headers  fields         `key:"headers"`
	Body     *body          `key:"body"`
	Checks   []check        `key:"checks"`
	Captures named[capture] `key:"captures"`
	Think    text           `key:"think"`
	Tags     tags           `key:"tags"`
	verbatim bool           // ${ is not a variable: vegeta's format, and flags
}

type target struct {
	step
	Weight text `key:"weight"`
}

type flow struct {
	Line   int
	Name   text   `key:"name"`
	Weight text   `key:"weight"`
	Tags   tags   `key:"tags"`
	Steps  []step `key:"steps"`
}

// section is one of several scenarios in a file. Each user plays one of them.
type section struct {
	Line    int
	Name    text     `key:"name"`
	Weight  text     `key:"weight"`
	Think   text     `key:"think"`
	Tags    tags     `key:"tags"`
	Targets []target `key:"targets"`
	Flows   []flow   `key:"flows"`
}

type tags = named[text]

type body struct {
	Line     int
	Text     text        `key:"text"`
	JSON     *tree       `key:"json"`
	Form     named[text] `key:"form"`
	File     text        `key:"file"`
	Template bool        `key:"template"`
	Size     text        `key:"size"`
	Fill     text        `key:"fill"`
	Chunked  text        `key:"chunked"`
}

type check struct {
	Line   int
	Name   text         `key:"name"`
	Status statuses     `key:"status"`
	Header *headerCheck `key:"header"`
	Body   *comparison  `key:"body"`
	JSON   *jsonCheck   `key:"json"`
}

type comparison struct {
	Line     int
	Equals   *tree `key:"equals"`
	Contains text  `key:"contains"`
	Matches  text  `key:"matches"`
}

type headerCheck struct {
	Name text `key:"name"`
	comparison
	Exists *bool `key:"exists"`
}

type jsonCheck struct {
	Path text `key:"path"`
	comparison
	Exists *bool `key:"exists"`
}

type capture struct {
	Line    int
	Header  text `key:"header"`
	Cookie  text `key:"cookie"`
	JSON    text `key:"json"`
	Regexp  text `key:"regexp"`
	Default text `key:"default"`
}

type variable struct {
	Line    int
	Value   text        `key:"value"`
	Counter *counter    `key:"counter"`
	Int     *intRange   `key:"int"`
	UUID    text        `key:"uuid"`
	String  *randomText `key:"string"`
	Choice  []text      `key:"choice"`
	CSV     *csvRow     `key:"csv"`
	JWT     *jwtSpec    `key:"jwt"`
	Per     text        `key:"per"`
}

type counter struct {
	Start int64 `key:"start"`
	Step  int64 `key:"step"`
}

type intRange struct {
	Min int64 `key:"min"`
	Max int64 `key:"max"`
}

type randomText struct {
	Length   int64 `key:"length"`
	Alphabet text  `key:"alphabet"`
}

type csvRow struct {
	File      text `key:"file"`
	Order     text `key:"order"`
	Separator text `key:"separator"`
}

type jwtSpec struct {
	Line      int
	Algorithm text  `key:"algorithm"`
	Key       text  `key:"key"`
	KeyFile   text  `key:"key_file"`
	Header    *tree `key:"header"`
	Claims    *tree `key:"claims"`
	Lifetime  text  `key:"lifetime"`
}

// text is a scalar with its position. Numbers and booleans keep their original spelling:
// X-Version: 1.10 need not be quoted.
type text struct {
	s    string
	node *node // nil: not given
}

func (t *text) bind(b *binder, n *node, what string) {
	switch n.kind {
	case boolean, number, words:
		t.s, t.node = n.text, n
	default:
		b.fail(n.line, "write text, in quotes if it contains special characters", "%s: found %s, want text", what, n.describe())
	}
}

func (t text) given() bool { return t.node != nil }

// or returns the text, or other if it is not given.
func (t text) or(other string) string {
	if t.given() {
		return t.s
	}
	return other
}

// literal returns a text that does not come from a scenario file: from flags, or from
// vegeta's format.
func literal(s string, line int) text {
	return text{s: s, node: &node{kind: words, line: line, text: s}}
}

// tree is any value.
type tree struct{ *node }

func (t *tree) bind(_ *binder, n *node, _ string) { t.node = n }

// named is a mapping from names chosen by the user to values, in the order of the file.
type named[T any] []entry[T]

type entry[T any] struct {
	name  string
	line  int
	value T
}

func (e *named[T]) bind(b *binder, n *node, what string) {
	if n.kind != mapping || len(n.keys) == 0 {
		b.fail(n.line, "write name: value", "%s: found %s, want a mapping with names", what, n.describe())
		return
	}
	*e = make([]entry[T], len(n.keys))
	for i, k := range n.keys {
		(*e)[i].name, (*e)[i].line = k.name, k.line
		b.bind(n.items[i], reflect.ValueOf(&(*e)[i].value).Elem(), what+"."+k.name)
	}
}

// fields are header fields. A list repeats a field; a null value (~ or null) removes a
// default.
type fields []entry[text]

func (f *fields) bind(b *binder, n *node, what string) {
	if n.kind != mapping {
		b.fail(n.line, "write one Name: value on each line", "%s: found %s, want a mapping", what, n.describe())
		return
	}
	for i, k := range n.keys {
		values := n.items[i : i+1]
		if values[0].kind == list {
			values = values[0].items
		}
		for _, v := range values {
			e := entry[text]{name: k.name, line: k.line}
			if v.kind != null {
				e.value.bind(b, v, what+"."+k.name)
			}
			*f = append(*f, e)
		}
	}
}

func (x *body) bind(b *binder, n *node, what string) {
	if n.kind != mapping {
		x.Line = n.line
		x.Text.bind(b, n, what)
		return
	}
	b.fields(n, reflect.ValueOf(x).Elem(), what)
}

// bind accepts {start: 1, step: 1}, or only the start.
func (c *counter) bind(b *binder, n *node, what string) {
	c.Start, c.Step = 1, 1
	if n.kind == number {
		b.bind(n, reflect.ValueOf(&c.Start).Elem(), what)
		return
	}
	b.fields(n, reflect.ValueOf(c).Elem(), what)
}

// bind accepts {min: 1, max: 6}, or [1, 6].
func (r *intRange) bind(b *binder, n *node, what string) {
	if n.kind != list {
		b.fields(n, reflect.ValueOf(r).Elem(), what)
		return
	}
	if len(n.items) != 2 {
		b.fail(n.line, "write [min, max]", "%s: %d numbers", what, len(n.items))
		return
	}
	b.bind(n.items[0], reflect.ValueOf(&r.Min).Elem(), what)
	b.bind(n.items[1], reflect.ValueOf(&r.Max).Elem(), what)
}

// bind accepts {length: 16}, or only the length.
func (r *randomText) bind(b *binder, n *node, what string) {
	if n.kind == number {
		b.bind(n, reflect.ValueOf(&r.Length).Elem(), what)
		return
	}
	b.fields(n, reflect.ValueOf(r).Elem(), what)
}

// bind accepts {file: users.csv}, or only the file.
func (c *csvRow) bind(b *binder, n *node, what string) {
	if n.kind == words {
		c.File.bind(b, n, what)
		return
	}
	b.fields(n, reflect.ValueOf(c).Elem(), what)
}

// statuses is a set of status codes, written as 200, 2xx, or a list of those.
type statuses struct {
	set  *statusSet
	text string // as written
}

// statusSet has a bit for each code below 1024.
type statusSet [16]uint64

func (s *statusSet) has(code int) bool {
	return uint(code) < 1024 && s[code/64]&(1<<(code%64)) != 0
}

func (s *statusSet) add(from, to int) {
	for code := from; code <= to; code++ {
		s[code/64] |= 1 << (code % 64)
	}
}

func (s *statuses) bind(b *binder, n *node, what string) {
	items := []*node{n}
	if n.kind == list {
		items = n.items
	}
	s.set = new(statusSet)
	var names []string
	for _, item := range items {
		from, to, ok := statusRange(item)
		if !ok {
			b.fail(item.line, "write 200, 2xx, 200-299, or a list of those", "%s: %s is not a status code", what, item.describe())
			return
		}
		s.set.add(from, to)
		names = append(names, item.text)
	}
	if s.text = strings.Join(names, ", "); s.text == "" {
		b.fail(n.line, "write 200, 2xx, 200-299, or a list of those", "%s: no status code", what)
	}
}

// statusRange parses 200, 2xx or 200-299.
func statusRange(n *node) (from, to int, ok bool) {
	if n.kind != number && n.kind != words {
		return 0, 0, false
	}
	if len(n.text) == 3 && strings.EqualFold(n.text[1:], "xx") && n.text[0] >= '1' && n.text[0] <= '9' {
		from = int(n.text[0]-'0') * 100
		return from, from + 99, true
	}
	first, last, found := strings.Cut(n.text, "-")
	if !found {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	return from, to, err == nil && err2 == nil && from >= 100 && from <= to && to <= 999
}

// ParseSize parses a number of bytes: 4096, 64KiB, 10MB; at most 1 PiB.
func ParseSize(s string) (int64, error) {
	units := []struct {
		name string
		n    int64
	}{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"TiB", 1 << 40},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
		{"B", 1},
	}
	digits, unit := s, int64(1)
	for _, u := range units {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = strings.TrimSpace(d), u.n
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<50)/unit {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	return n * unit, nil
}
