package imports

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/redline-go/redline/lab/load/scenario"
)

// Limits on what is imported.
const (
	MaxSource   = 256 << 20 // bytes of a source; HAR files contain answers
	maxRequests = 10_000    // requests of a scenario
	maxBody     = 1 << 20   // bytes of a body that is part of the scenario
	maxNotes    = 50        // notes of one scenario
)

// Scenario is a list of requests to one server, or, before [Scenario.Finish], to several.
type Scenario struct {
	Base     string // http://host:port of the paths; empty: the command line gives it
	Flow     string // name of the flow that the requests are steps of; empty: they are targets
	Sequence bool   // targets are requested in turn, not at random
	Requests []Request
	Notes    []string // what was left out or changed, one sentence each

	defaults  []Field
	variables []Field // names and values
}

// Request is one request. All texts are literal: ${ is not a variable.
type Request struct {
	Line   int    // in the source, from 1; 0 if unknown
	Name   string // by which results are listed; empty: method and URL
	Method string
	URL    string // http://host:port/path?query, or a path under the base
	Header []Field
	Body   *Body
	Think  time.Duration // pause after the answer
	Status int           // expected status; 0: 2xx or 3xx

	sent, done time.Time // of a recording; zero: unknown
}

// Field is a header field.
type Field struct{ Name, Value string }

// Body is the content of a request: exactly one of Text, JSON and File is used.
type Body struct {
	Text    string     // UTF-8
	JSON    *yaml.Node // a value without aliases
	File    string     // path as in the source, sent unchanged
	Chunked bool       // sent without Content-Length
}

// note adds a note. Equal notes are kept once.
func (s *Scenario) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	switch {
	case slices.Contains(s.Notes, n):
	case len(s.Notes) == maxNotes:
		s.Notes = append(s.Notes, "there are more notes, which are not listed")
	case len(s.Notes) < maxNotes:
		s.Notes = append(s.Notes, n)
	}
}

// add appends a request to a source named name, unless there are too many.
func (s *Scenario) add(name string, r Request) error {
	if len(s.Requests) == maxRequests {
		return flaw(name, r.Line, "import a part of the file", "more than %d requests", maxRequests)
	}
	s.Requests = append(s.Requests, r)
	return nil
}

// flaw returns an error at a line of a source: what is wrong, and what to do about it.
func flaw(name string, line int, do, what string, args ...any) error {
	return &scenario.Error{File: name, Line: line, What: fmt.Sprintf(what, args...), Do: do}
}

// get returns the value of the first field with a name.
func (r *Request) get(name string) (string, bool) {
	i := slices.IndexFunc(r.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return "", false
	}
	return r.Header[i].Value, true
}

// set adds a field, unless there is one with its name.
func (r *Request) set(name, value string) {
	if _, ok := r.get(name); !ok {
		r.Header = append(r.Header, Field{name, value})
	}
}

// remove deletes the fields with a name.
func (r *Request) remove(name string) {
	r.Header = slices.DeleteFunc(r.Header, func(f Field) bool { return strings.EqualFold(f.Name, name) })
}

// basic returns the value of Authorization for a name and a password.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// check validates the parts of a request from a source named name, and brings them into the
// form that a scenario requires.
func (s *Scenario) check(name string, r *Request) error {
	for _, c := range r.Method {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) {
			return flaw(name, r.Line, "write GET, POST or another method", "method %q", r.Method)
		}
	}
	for i, f := range r.Header {
		switch {
		case !isToken(f.Name):
			return flaw(name, r.Line, "write Name: value, the name with letters, digits and -", "%q is not the name of a header field", f.Name)
		case !utf8.ValidString(f.Value):
			return flaw(name, r.Line, "write it in UTF-8, or leave it out", "header %s is not text", f.Name)
		case strings.ContainsFunc(f.Value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			return flaw(name, r.Line, "write it on one line", "header %s has a line break or a control character", f.Name)
		}
		r.Header[i].Value = strings.TrimSpace(f.Value)
	}
	if r.Body != nil && r.Body.File == "" && r.Body.JSON == nil {
		if len(r.Body.Text) > maxBody {
			return flaw(name, r.Line, "store it in a file and name that", "a body of %d bytes; a scenario contains at most %d", len(r.Body.Text), maxBody)
		}
		if !utf8.ValidString(r.Body.Text) {
			return flaw(name, r.Line, "store it in a file, and name that as body: {file: NAME}", "the body is not text")
		}
	}
	if r.Body != nil && !utf8.ValidString(r.Body.File) {
		return flaw(name, r.Line, "rename the file", "the name of the file %q is not text", r.Body.File)
	}
	return s.checkURL(name, r)
}

// checkURL brings a URL into the form of a scenario: no user, no fragment, and all characters
// escaped that a request cannot contain.
func (s *Scenario) checkURL(name string, r *Request) error {
	origin, rest := "", r.URL
	if !strings.HasPrefix(r.URL, "/") {
		at := strings.Index(r.URL, "://")
		if at < 0 {
			return flaw(name, r.Line, "write http://host:port/path", "%.100q is not a URL", r.URL)
		}
		end := at + 3 + strings.IndexAny(r.URL[at+3:]+"/", "/?#")
		origin, rest = r.URL[:end], r.URL[end:]
		u, err := url.Parse(origin)
		switch {
		case err != nil:
			return flaw(name, r.Line, "write http://host:port/path", "%.100q is not a URL", r.URL)
		case u.Scheme != "http" && u.Scheme != "https":
			return flaw(name, r.Line, "write a URL that begins with http:// or https://", "%.100q is not a URL of HTTP", r.URL)
		case u.Hostname() == "" || strings.ContainsAny(u.Host, "${}%"):
			return flaw(name, r.Line, "write http://host:port/path", "%.100q does not name a server", r.URL)
		}
		if u.User != nil {
			password, _ := u.User.Password()
			r.set("Authorization", basic(u.User.Username(), password))
		}
		origin = u.Scheme + "://" + strings.ToLower(u.Host)
	}
	rest, _, _ = strings.Cut(rest, "#")
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	r.URL = origin + escape(rest)
	return nil
}

// escape escapes the characters of a path and query that a request cannot contain, and a
// percent sign that escapes nothing.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		unsafe := c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>\\^`{|}", c) >= 0
		if c == '%' {
			unsafe = i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])
		}
		if unsafe {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// isToken reports whether s is a token, RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// cutOrigin splits a checked URL into scheme with host, and the path with the query.
func cutOrigin(u string) (origin, path string) {
	at := strings.Index(u, "://")
	if at < 0 || strings.HasPrefix(u, "/") {
		return "", u
	}
	end := at + 3 + strings.IndexByte(u[at+3:], '/')
	return u[:end], u[end:]
}

// lineOf returns the line of an offset in a text, from 1.
func lineOf(text []byte, offset int64) int {
	offset = min(max(offset, 0), int64(len(text)))
	return 1 + bytes.Count(text[:offset], []byte("\n"))
}

// method returns the method of a request, and the default for one without.
func method(given string, body bool) string {
	if body {
		return cmp.Or(given, "POST")
	}
	return cmp.Or(given, "GET")
}
