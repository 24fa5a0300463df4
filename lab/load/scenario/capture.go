package scenario

import (
	"regexp"
	"strings"

	"github.com/redline-go/redline/lab/load/scenario/jar"
	"github.com/redline-go/redline/lab/load/scenario/jsonpath"
)

// maxCapture is the limit on a captured value in bytes. A longer value counts as missing.
const maxCapture = 64 << 10

// grab is a compiled capture.
type grab struct {
	name     string // name as a failed check
	slot     int32
	subject  subject
	field    string // of a header, in lower case, or of a cookie
	path     jsonpath.Path
	re       *regexp.Regexp
	fallback []byte
	optional bool
}

// take stores the value found in a response, and reports whether there was one; if not, the
// previous value remains. scratch is retained.
func (g *grab) take(c *cell, head, body []byte, scratch *[]byte) bool {
	value, ok := g.find(scratch, head, body)
	if !ok || len(value) > maxCapture {
		if !g.optional {
			return false
		}
		value = g.fallback
	}
	c.buf = append(c.buf[:0], value...)
	return true
}

// find returns the value, which is a part of the response or of buf.
func (g *grab) find(buf *[]byte, head, body []byte) ([]byte, bool) {
	switch g.subject {
	case ofHeader:
		value, _, ok := field(head, g.field)
		return value, ok
	case ofCookie:
		return cookie(head, g.field)
	case ofJSON:
		value, ok := g.path.Find(body)
		if !ok || value.Kind == jsonpath.Null {
			return nil, false
		}
		return value.Text(buf), true
	default:
		at := g.re.FindSubmatchIndex(body)
		if at == nil {
			return nil, false
		}
		if len(at) > 2 {
			at = at[2:]
		}
		if at[0] < 0 {
			return nil, false
		}
		return body[at[0]:at[1]], true
	}
}

// cookie returns the value that Set-Cookie sets, RFC 6265, section 5.2. If several have the
// same name, the last one is used, as in a browser.
func cookie(head []byte, name string) (value []byte, found bool) {
	for {
		line, rest, ok := field(head, "set-cookie")
		if !ok {
			return value, found
		}
		head = rest
		if k, v, _, ok := jar.Parse(line); ok && string(k) == name {
			value, found = v, true
		}
	}
}

// captures compiles the captures of a step. The slots exist already.
func (c *compiler) captures(all named[capture], slots map[string]int32) []grab {
	var out []grab
	for i := range all {
		e := &all[i]
		k := &e.value
		g := grab{name: "capture " + e.name, slot: slots[e.name]}
		if k.Default.given() {
			g.optional, g.fallback = true, []byte(k.Default.s)
		}
		given, ok := 0, true
		if k.Header.given() {
			given++
			g.subject, g.field = ofHeader, strings.ToLower(k.Header.s)
			if ok = isToken(g.field); !ok {
				c.fail(k.Line, "write header: X-Token", "capture %q: %q is not a field name", e.name, k.Header.s)
			}
		}
		if k.Cookie.given() {
			given++
			g.subject, g.field = ofCookie, k.Cookie.s
		}
		if k.JSON.given() {
			given++
			g.subject = ofJSON
			g.path, ok = c.jsonPath(k.JSON, k.Line)
		}
		if k.Regexp.given() {
			given++
			g.subject = ofRegexp
			if g.re, ok = c.regexp(k.Regexp); ok && g.re.NumSubexp() > 1 {
				c.fail(k.Regexp.node.line, "keep one pair of parentheses around the value to capture; group the rest with (?:...)", "capture %q: %d groups", e.name, g.re.NumSubexp())
			}
		}
		if given != 1 {
			c.fail(k.Line, "write one of header, cookie, json and regexp", "capture %q has %d sources", e.name, given)
			continue
		}
		if ok {
			out = append(out, g)
		}
	}
	return out
}
