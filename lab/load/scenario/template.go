package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// part is one piece of a template's text: a literal or a reference.
type part struct {
	literal string
	name    string // of the variable; empty: literal
	column  string // after the first dot
	filter  string // after the vertical bar
	offset  int    // of the reference in the text
}

// splitTemplate splits a text at its references: ${name}, ${name.column}, ${name|filter}.
// $${ is a literal ${; any other $ is a dollar sign.
func splitTemplate(s string) ([]part, *templateError) {
	var parts []part
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, part{literal: text.String()})
			text.Reset()
		}
	}
	for at := 0; ; {
		next := strings.Index(s[at:], "${")
		if next < 0 {
			text.WriteString(s[at:])
			flush()
			return parts, nil
		}
		next += at
		if next > at && s[next-1] == '$' {
			text.WriteString(s[at : next-1])
			text.WriteString("${")
			at = next + 2
			continue
		}
		text.WriteString(s[at:next])
		size := strings.IndexByte(s[next:], '}')
		if size < 0 {
			return nil, &templateError{next, "${ without }", "close it, or write $${ for the characters themselves"}
		}
		p, err := reference(s[next+2 : next+size])
		if err != nil {
			err.offset = next
			return nil, err
		}
		flush()
		p.offset = next
		parts = append(parts, p)
		at = next + size + 1
	}
}

// templateError is a mistake at an offset of a template.
type templateError struct {
	offset   int
	what, do string
}

// reference parses the text between the braces.
func reference(s string) (part, *templateError) {
	var p part
	if bar := strings.LastIndexByte(s, '|'); bar >= 0 {
		s, p.filter = strings.TrimSpace(s[:bar]), strings.TrimSpace(s[bar+1:])
		if p.filter != "raw" && p.filter != "url" && p.filter != "json" {
			return p, &templateError{0, fmt.Sprintf("unknown filter %q", p.filter), "the filters are raw, url and json; or write $${ for the characters themselves"}
		}
	}
	p.name, p.column, _ = strings.Cut(strings.TrimSpace(s), ".")
	if !isName(p.name) {
		return p, &templateError{0, fmt.Sprintf("${%s} is not a variable", s), "write ${name} with letters, digits, - and _; or $${ for the characters themselves"}
	}
	return p, nil
}

// isName reports whether s is a valid name of a variable or a capture.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// encoding is how a value is written, so that no value can end the place that contains it: a
// captured CR LF never begins a header field.
type encoding uint8

const (
	plain    encoding = iota // unchanged
	query                    // everything except RFC 3986's unreserved characters is escaped
	inTarget                 // characters that a request target cannot contain are escaped
	inField                  // characters that a header field cannot contain become spaces
	quoted                   // the inside of a JSON string
)

// segment is a literal, or the value of a slot.
type segment struct {
	literal []byte
	slot    int32 // -1: literal
	column  int32 // of a CSV row
	enc     encoding
}

// template is precompiled text. Neighbouring literals are one segment, so a template
// without variables has at most one.
type template []segment

// text appends a literal.
func (t template) text(s string) template {
	if s == "" {
		return t
	}
	if n := len(t); n > 0 && t[n-1].slot < 0 {
		t[n-1].literal = append(t[n-1].literal, s...)
		return t
	}
	return append(t, segment{literal: []byte(s), slot: -1})
}

// join appends another template.
func (t template) join(other template) template {
	for _, s := range other {
		if s.slot < 0 {
			t = t.text(string(s.literal))
		} else {
			t = append(t, s)
		}
	}
	return t
}

// constant returns the bytes of a template without variables.
func (t template) constant() ([]byte, bool) {
	switch {
	case len(t) == 0:
		return nil, true
	case len(t) == 1 && t[0].slot < 0:
		return t[0].literal, true
	}
	return nil, false
}

// render appends the text of t for a user.
func (u *User) render(dst []byte, t template) []byte {
	for i := range t {
		s := &t[i]
		if s.slot < 0 {
			dst = append(dst, s.literal...)
			continue
		}
		dst = s.enc.append(dst, u.value(s.slot, s.column))
	}
	return dst
}

const hexDigits = "0123456789ABCDEF"

// unsafe reports whether e escapes a byte.
func (e encoding) unsafe(c byte) bool {
	switch e {
	case query:
		alnum := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		return !alnum && c != '-' && c != '.' && c != '_' && c != '~'
	case inTarget:
		return c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>\\^`{|}", c) >= 0
	case inField:
		return c < ' ' && c != '\t' || c == 0x7f
	case quoted:
		return c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	default:
		return false
	}
}

// append writes a value.
func (e encoding) append(dst, value []byte) []byte {
	if e == plain {
		return append(dst, value...)
	}
	start := 0
	for i := 0; i < len(value); i++ {
		c := value[i]
		if !e.unsafe(c) {
			continue
		}
		dst = append(dst, value[start:i]...)
		start = i + 1
		switch e {
		case inField:
			dst = append(dst, ' ')
		case quoted:
			var size int
			dst, size = appendQuoted(dst, value[i:])
			i += size - 1
			start = i + 1
		default:
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, value[start:]...)
}

// appendQuoted appends the first character of value in the form that a JSON string needs,
// and returns its size. Invalid UTF-8 becomes U+FFFD, as in encoding/json.
func appendQuoted(dst, value []byte) ([]byte, int) {
	switch c := value[0]; {
	case c == '"' || c == '\\':
		return append(dst, '\\', c), 1
	case c < utf8.RuneSelf:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]), 1
	}
	r, size := utf8.DecodeRune(value)
	return utf8.AppendRune(dst, r), size
}

// template compiles a text. The place determines how values are written. A filter can
// change that, but cannot let a value end a URL or a header field.
func (s *scope) template(t text, place encoding) template {
	if t.node == nil {
		return nil
	}
	if s.verbatim {
		return template(nil).text(t.s)
	}
	parts, err := splitTemplate(t.s)
	if err != nil {
		s.c.fail(t.node.lineAt(err.offset), err.do, "%s", err.what)
		return nil
	}
	var out template
	for _, p := range parts {
		if p.name == "" {
			out = out.text(p.literal)
			continue
		}
		seg, ok := s.resolve(p, t.node.lineAt(p.offset))
		if !ok {
			continue
		}
		seg.enc = place.filtered(p.filter)
		out = append(out, seg)
	}
	return out
}

func (e encoding) filtered(filter string) encoding {
	switch {
	case filter == "url":
		return query
	case filter == "json" && e == plain:
		return quoted
	case filter == "raw" && e == query:
		return inTarget
	case filter == "raw" && e == quoted:
		return plain
	default:
		return e
	}
}

// tree compiles a value into JSON whose strings are templates. A string that consists of
// one ${name|raw} is written without its quotes: it is a number, or JSON provided by the
// user.
func (s *scope) tree(n *node) template {
	switch n.kind {
	case list:
		out := template(nil).text("[")
		for i, item := range n.items {
			if i > 0 {
				out = out.text(",")
			}
			out = out.join(s.tree(item))
		}
		return out.text("]")
	case mapping:
		out := template(nil).text("{")
		for i, k := range n.keys {
			if i > 0 {
				out = out.text(",")
			}
			out = out.text(quote(k.name) + ":").join(s.tree(n.items[i]))
		}
		return out.text("}")
	case words:
		return s.quotedText(n)
	default:
		return template(nil).text(s.c.scalar(n))
	}
}

func (s *scope) quotedText(n *node) template {
	inner := s.template(text{n.text, n}, quoted)
	if len(inner) == 1 && inner[0].enc == plain && inner[0].slot >= 0 {
		return inner
	}
	out := template(nil).text(`"`)
	for _, seg := range inner {
		if seg.slot < 0 {
			seg.literal = quoted.append(nil, seg.literal)
		}
		out = out.join(template{seg})
	}
	return out.text(`"`)
}

func quote(s string) string { return `"` + string(quoted.append(nil, []byte(s))) + `"` }

// scalar returns a number, a boolean or null as JSON.
func (b *binder) scalar(n *node) string {
	switch n.kind {
	case null:
		return "null"
	case boolean:
		return strings.ToLower(n.text)
	}
	if !json.Valid([]byte(n.text)) {
		b.fail(n.line, "write the number in decimal, or put it in quotes", "JSON has no number %s", n.text)
	}
	return n.text
}
