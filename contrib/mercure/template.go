package mercure

import (
	"regexp"
	"strings"
)

// A template is a URI template (RFC 6570): its literals, and its expressions with what they expand to.
// Matching takes time in proportion to its variables and the topic. A regular expression would take
// the product of both many times over, and subscribers choose their templates.
type template struct {
	literals []string // before, between and behind the expressions
	parts    []part
}

// A part is a literal, or an expression: "first" and a value, then as often as "more" says "sep" and a
// value, or nothing at all. Characters outside of the value end it.
type part struct {
	literal     string
	first, sep  byte // 0: nothing
	more        int  // endless: any number
	value, next *class
}

const endless = -1

// A class is a set of characters; escapes of three are in all.
type class [256]bool

func newClass(characters string) *class {
	c := new(class)
	for i := range len(characters) {
		c[characters[i]] = true
	}
	return c
}

const unreservedText = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var (
	plainValue = newClass(unreservedText + ",")
	namedValue = newClass(unreservedText + ",=")
	anyValue   = newClass(unreservedText + "!#$&'()*+,/:;=?@[]")
	expression = regexp.MustCompile(`\{([+#./;?&]?)([^}]*)\}`)
)

// newTemplate returns the template of a text that is one.
func newTemplate(text string) *template {
	t := &template{literals: expression.Split(text, -1)}
	for i, found := range expression.FindAllStringSubmatch(text, -1) {
		t.add(part{literal: t.literals[i]})
		t.add(newExpression(found[1], strings.Split(found[2], ",")))
	}
	t.add(part{literal: t.literals[len(t.literals)-1]})
	return t
}

// newExpression returns what an operator makes of variables (RFC 6570, 3.2).
func newExpression(operator string, variables []string) part {
	e := part{more: len(variables) - 1, sep: ',', value: plainValue}
	explode := func(v string) bool { return strings.HasSuffix(v, "*") }
	exploded := false
	for _, v := range variables {
		exploded = exploded || explode(v)
	}
	if exploded {
		e.more = endless
	}
	switch operator {
	case "+", "#":
		e.value = anyValue
	case ".", "/", ";":
		e.sep = operator[0]
	case "?", "&":
		e.sep = '&'
	}
	if operator != "" && operator != "+" {
		e.first = operator[0]
	}
	e.next = e.value
	if named := operator == ";" || operator == "?" || operator == "&"; e.value == plainValue {
		if named || explode(variables[0]) {
			e.value = namedValue
		}
		if named || exploded {
			e.next = namedValue
		}
	}
	if e.value == e.next && e.value[e.sep] {
		e.more = 0 // the value holds it already
	}
	return e
}

// add appends a part, unless it adds nothing.
func (t *template) add(p part) {
	last := len(t.parts) - 1
	if p.value == nil && p.literal == "" || last >= 0 && p.first == 0 && p.more == 0 && p.value != nil && t.parts[last] == p {
		return
	}
	t.parts = append(t.parts, p)
}

// places are offsets of a topic that are reached.
type places []bool

// match reports whether a topic may be an expansion of the template.
func (t *template) match(name string) bool {
	if !t.possible(name) {
		return false
	}
	var room [512]bool
	n := len(name) + 1
	all := places(room[:])
	if 2*n > len(all) {
		all = make(places, 2*n)
	}
	at, in := all[:n], all[n:2*n]
	at[0] = true
	for i := range t.parts {
		p := &t.parts[i]
		if p.value == nil {
			at.shift(name, p.literal)
			continue
		}
		copy(in, at)
		if p.first != 0 {
			in.shift(name, string(p.first))
		}
		in.extend(name, p.value, 0)
		at.join(in)
		if p.more == endless {
			in.shift(name, string(p.sep))
			in.extend(name, p.next, p.sep)
			at.join(in)
			continue
		}
		for range p.more {
			in.shift(name, string(p.sep))
			in.extend(name, p.next, 0)
			at.join(in)
		}
	}
	return at[n-1]
}

// possible reports whether a topic has the literals of the template, in order. That decides for most
// topics, and takes no memory.
func (t *template) possible(name string) bool {
	last := len(t.literals) - 1
	rest, ok := strings.CutPrefix(name, t.literals[0])
	for _, l := range t.literals[1:last] {
		if ok {
			_, rest, ok = strings.Cut(rest, l)
		}
	}
	return ok && strings.HasSuffix(rest, t.literals[last])
}

// shift moves the places on where a text follows, and removes the others.
func (p places) shift(name, text string) {
	for i := len(p) - 1; i >= 0; i-- {
		j := i - len(text)
		p[i] = j >= 0 && p[j] && name[j:i] == text
	}
}

// extend adds the places behind characters of a class, or of one more that is not 0.
func (p places) extend(name string, c *class, more byte) {
	for i := range len(name) {
		if !p[i] {
			continue
		}
		switch b := name[i]; {
		case c[b] || more != 0 && b == more:
			p[i+1] = true
		case b == '%' && i+2 < len(name) && isHex(name[i+1]) && isHex(name[i+2]):
			p[i+3] = true
		}
	}
}

func (p places) join(others places) {
	for i, here := range others {
		p[i] = p[i] || here
	}
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f'
}
