// Package jar keeps the cookies of one user of a scenario, as browsers do (RFC 6265): by
// domain and path, until they expire, and only over TLS if the server requires it.
package jar

import (
	"bytes"
	"net/http"
	"net/http/cookiejar"
	"net/url"
)

// maxAnswer is how many cookies one answer may set, and maxSent how many bytes of cookies a
// request may have: RFC 6265, section 6.1, requires 50 of 4096 bytes from browsers.
const (
	maxAnswer = 50
	maxSent   = 64 << 10
)

// Jar has the cookies of one user. It may be used by one goroutine at a time.
type Jar struct {
	cookies *cookiejar.Jar
	at      *url.URL // of the last request
	set     []*http.Cookie
}

// New returns an empty jar.
func New() *Jar {
	j := new(Jar)
	j.Clear()
	return j
}

// Clear empties the jar.
func (j *Jar) Clear() {
	j.cookies, _ = cookiejar.New(nil) // no error without options
	j.at = nil
}

// AppendTo appends the cookies of a request to dst in the format of the field Cookie:
// name=value, separated by semicolons. There may be none. The next Keep is for the answer to
// this request. target is path and query of the request.
func (j *Jar) AppendTo(dst []byte, scheme, host string, target []byte) []byte {
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

// Take parses a field Set-Cookie of the answer to the last request. A malformed field, or one
// beyond maxAnswer, is ignored, as in browsers.
func (j *Jar) Take(field []byte) {
	name, value, attributes, ok := Parse(field)
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

// Parse splits a field Set-Cookie as browsers do (RFC 6265, section 5.2): all bytes of the
// value are kept, quotes too. attributes begins with a semicolon if there are any. ok is false
// if there is no name, or if the field has control characters other than tabs. The results
// are parts of field.
func Parse(field []byte) (name, value, attributes []byte, ok bool) {
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

// Keep stores the cookies that Take has parsed.
func (j *Jar) Keep() {
	if j.at != nil && len(j.set) > 0 {
		j.cookies.SetCookies(j.at, j.set)
	}
	clear(j.set)
	j.set = j.set[:0]
}
