package scenario

import (
	"bytes"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

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
		if k, v, _, ok := parseCookie(line); ok && string(k) == name {
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

// maxAnswer is how many cookies one answer may set, and maxSent how many bytes of cookies a
// request may have: RFC 6265, section 6.1, requires 50 of 4096 bytes from browsers.
const (
	maxAnswer = 50
	maxSent   = 64 << 10
)

// jar keeps the cookies of one user, as browsers do (RFC 6265): by domain and path, until
// they expire, and only over TLS if the server requires it. It may be used by one goroutine at a time.
type jar struct {
	cookies *cookiejar.Jar
	at      *url.URL // of the last request
	set     []*http.Cookie
}

// newJar returns an empty jar.
func newJar() *jar {
	j := new(jar)
	j.clear()
	return j
}

// clear empties the jar.
func (j *jar) clear() {
	j.cookies, _ = cookiejar.New(nil) // no error without options
	j.at = nil
}

// appendTo appends the cookies of a request to dst in the format of the field Cookie:
// name=value, separated by semicolons. There may be none. The next keep is for the answer to
// this request. target is path and query of the request.
func (j *jar) appendTo(dst []byte, scheme, host string, target []byte) []byte {
	u, err := url.ParseRequestURI(string(target))
	if err != nil { // it is still sent, with the cookies of the whole server
		u = &url.URL{Path: "/"}
	}
	u.Scheme, u.Host = scheme, host
	j.at = u
	start := len(dst)
	for _, c := range j.cookies.Cookies(u) {
		if len(dst)-start+len(c.Name)+len(c.Value) > maxSent {
			break
		}
		if len(dst) > start {
			dst = append(dst, "; "...)
		}
		dst = append(append(append(dst, c.Name...), '='), c.Value...)
	}
	return dst
}

// take parses a field Set-Cookie of the answer to the last request. A malformed field, or one
// beyond maxAnswer, is ignored, as in browsers.
func (j *jar) take(field []byte) {
	name, value, attributes, ok := parseCookie(field)
	if !ok || len(j.set) >= maxAnswer {
		return
	}
	// net/http loses quotes, and refuses many names and values that browsers keep: it parses
	// the attributes only.
	c, err := http.ParseSetCookie("a=" + string(attributes))
	if err != nil {
		return
	}
	c.Name, c.Value = string(name), string(value)
	j.set = append(j.set, c)
}

// parseCookie splits a field Set-Cookie as browsers do (RFC 6265, section 5.2): all bytes of the
// value are kept, quotes too. attributes begins with a semicolon if there are any. ok is false
// if there is no name, or if the field has control characters other than tabs. The results
// are parts of field.
func parseCookie(field []byte) (name, value, attributes []byte, ok bool) {
	if bytes.ContainsFunc(field, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return nil, nil, nil, false
	}
	pair := field
	if at := bytes.IndexByte(field, ';'); at >= 0 {
		pair, attributes = field[:at], field[at:]
	}
	name, value, ok = bytes.Cut(pair, []byte("="))
	name, value = bytes.Trim(name, " \t"), bytes.Trim(value, " \t")
	return name, value, attributes, ok && len(name) > 0
}

// keep stores the cookies that Take has parsed.
func (j *jar) keep() {
	if j.at != nil && len(j.set) > 0 {
		j.cookies.SetCookies(j.at, j.set)
	}
	clear(j.set)
	j.set = j.set[:0]
}
