package nethttp

import (
	"net/url"
	"strings"

	"github.com/redline-go/redline/internal/exchange"
)

// parseTarget fills u from the request target, as url.ParseRequestURI would. Most targets
// are a path that needs no decoding, with an optional query; others are passed to
// url.ParseRequestURI.
func parseTarget(u *url.URL, x *exchange.Exchange, head, target string) error {
	if len(target) == 0 || target[0] != '/' || x.PathEscaped || x.Method == exchange.MethodConnect || !plain(x.PathBytes()) {
		return parseOdd(u, x, target)
	}
	u.Path = sub(head, x.Path)
	if x.HasQuery {
		u.RawQuery = sub(head, x.Query)
		u.ForceQuery = u.RawQuery == ""
	}
	return nil
}

// parseOdd parses any target. The target of CONNECT is an authority, unless it is a path,
// as in net/rpc.
func parseOdd(u *url.URL, x *exchange.Exchange, target string) error {
	authority := x.Method == exchange.MethodConnect && !strings.HasPrefix(target, "/")
	if authority {
		target = "http://" + target
	}
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		return err
	}
	*u = *parsed
	if authority {
		u.Scheme = ""
	}
	return nil
}

// plain reports whether a path has only bytes that package url never escapes in a path:
// then it is its own encoding, and RawPath stays empty.
func plain(path []byte) bool {
	for _, c := range path {
		if !plainBytes[c] {
			return false
		}
	}
	return true
}

var plainBytes = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for _, c := range "-_.~$&+,/:;=@" {
		t[c] = true
	}
	return t
}()

// sub is the text of a span of the head, which has been copied into a string.
func sub(head string, s exchange.Span) string { return head[s.Off : s.Off+s.Len] }
