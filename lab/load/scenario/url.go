package scenario

import (
	"fmt"
	"net/url"
	"strings"
)

// place is the part of a URL that identifies the server, with the path that a base adds.
type place struct {
	scheme, host, prefix string
}

// cutURL splits off scheme and authority.
func cutURL(s string) (origin, rest string) {
	scheme := strings.Index(s, "://")
	if scheme < 0 || strings.ContainsAny(s[:scheme], "/?#") {
		return "", s
	}
	end := strings.IndexAny(s[scheme+3:], "/?#")
	if end < 0 {
		return s, ""
	}
	return s[:scheme+3+end], s[scheme+3+end:]
}

func (c *compiler) parseBase(t text) *place {
	origin, rest := cutURL(t.s)
	p, ok := c.origin(origin, t)
	if !ok {
		return nil
	}
	if strings.ContainsAny(rest, "?#") || strings.Contains(rest, "${") {
		c.fail(t.node.line, "write http://host:port or http://host:port/path", "base %q: a base cannot have a query or variables", t.s)
		return nil
	}
	p.prefix = strings.TrimSuffix(rest, "/")
	return p
}

// origin parses http://host:port.
func (c *compiler) origin(s string, t text) (*place, bool) {
	line := t.node.line
	if strings.Contains(s, "${") {
		c.fail(line, "use variables only in path and query; write a target for each server", "%q: variables in the server's name", t.s)
		return nil, false
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		c.fail(line, "write http://host:port/path", "%q is no URL", t.s)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		c.fail(line, "write http:// or https://, host and port", "%q does not name a server", t.s)
	case u.User != nil:
		c.fail(line, "send the header Authorization instead", "%q: user information in a URL is not sent", t.s)
	default:
		return &place{scheme: u.Scheme, host: u.Host}, true
	}
	return nil, false
}

// url compiles the URL of a target.
func (s *scope) url(t *Target, st *step) {
	c, line := s.c, st.Line
	if st.URL.s == "" {
		c.fail(line, "write url: /path, or url: http://host:port/path", "%s: no url", t.name)
		return
	}
	line = st.URL.node.line
	origin, rest := cutURL(st.URL.s)
	var p *place
	switch {
	case origin != "":
		p, _ = c.origin(origin, st.URL)
	case !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "?"):
		c.fail(line, "write /path for a path under base, or http://host:port/path", "url %q is neither a path nor a URL", st.URL.s)
	case c.base == nil:
		c.fail(line, "write base: http://host:port at the top, give the URL on the command line, or write http://host:port"+rest, "url %q: there is no base to put it under", st.URL.s)
	default:
		p = c.base
		rest = p.prefix + rest
	}
	if p == nil {
		return
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	t.origin = c.plan.origin(p)
	t.scheme, t.host = p.scheme, p.host
	t.path = s.template(text{rest, st.URL.node}, query)
	for k, seg := range t.path {
		if seg.slot < 0 {
			s.literalURL(seg.literal, st.URL)
		}
		if s.verbatim { // vegeta escapes where necessary
			t.path[k].literal = inTarget.append(nil, seg.literal)
		}
	}
}

// literalURL rejects characters that a URL cannot contain. Where there are no variables, in
// vegeta's format and in flags, most of them are escaped instead.
func (s *scope) literalURL(b []byte, t text) {
	for i, c := range b {
		fine := !inTarget.unsafe(c) || s.verbatim && c != '#' && c != ' ' && c >= ' ' && c != 0x7f
		if c == '%' {
			fine = i+2 < len(b) && isHex(b[i+1]) && isHex(b[i+2])
		}
		if fine {
			continue
		}
		do := fmt.Sprintf("write %%%02X", c)
		if c == '#' {
			do = "remove it: a fragment is never sent"
		}
		s.c.fail(t.node.line, do, "url %q: %q is not allowed there", t.s, c)
		return
	}
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
