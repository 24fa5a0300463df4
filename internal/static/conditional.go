package static

import (
	"net/http"
	"strings"
	"time"
)

// Conditions are the values of a request's precondition fields; several field lines are
// joined with commas. Empty means absent.
type Conditions struct {
	IfMatch, IfNoneMatch, IfModifiedSince, IfUnmodifiedSince, IfRange string
}

// An Outcome is the result of evaluating preconditions.
type Outcome int

// The outcomes.
const (
	Proceed     Outcome = iota
	NotModified         // status 304
	Failed              // status 412
)

// Evaluate evaluates the preconditions of GET or HEAD, except If-Range, in the order of RFC
// 9110, 13.2.2. tag is the selected representation's entity tag and modified its
// modification time; empty and zero if there is none.
func (c *Conditions) Evaluate(tag string, modified time.Time) Outcome {
	switch {
	case c.IfMatch != "":
		if !matches(c.IfMatch, tag, true) {
			return Failed
		}
	case c.IfUnmodifiedSince != "":
		if after, ok := changed(modified, c.IfUnmodifiedSince); ok && after {
			return Failed
		}
	}
	switch {
	case c.IfNoneMatch != "":
		if matches(c.IfNoneMatch, tag, false) {
			return NotModified
		}
	case c.IfModifiedSince != "":
		if after, ok := changed(modified, c.IfModifiedSince); ok && !after {
			return NotModified
		}
	}
	return Proceed
}

// RangeApplies evaluates If-Range (RFC 9110, 13.1.5): it reports whether the client's parts
// belong to the currently selected representation.
func (c *Conditions) RangeApplies(tag string, modified time.Time) bool {
	switch {
	case c.IfRange == "":
		return true
	case strings.HasPrefix(c.IfRange, `"`), strings.HasPrefix(c.IfRange, "W/"):
		return c.IfRange == tag && tag[0] == '"'
	}
	t, err := http.ParseTime(c.IfRange)
	return err == nil && Dated(modified) && modified.Unix() == t.Unix()
}

// Dated reports whether a modification time is known: neither zero nor the epoch, which
// both mean unknown.
func Dated(t time.Time) bool { return !t.IsZero() && t.Unix() != 0 }

// changed reports whether a representation was modified after a date, to the second. ok is
// false if that cannot be decided, and the field has to be ignored.
func changed(modified time.Time, date string) (after, ok bool) {
	t, err := http.ParseTime(date)
	if err != nil || !Dated(modified) {
		return false, false
	}
	return modified.Unix() > t.Unix(), true
}

// matches reports whether a tag is in a list of entity tags, or the list is "*", by strong
// or by weak comparison (RFC 9110, 8.8.3.2). Text after an invalid entity tag is ignored.
func matches(list, tag string, strong bool) bool {
	if list == "*" {
		return true
	}
	if tag == "" || strong && tag[0] == 'W' {
		return false
	}
	opaque := strings.TrimPrefix(tag, "W/")
	for {
		list = strings.TrimLeft(list, " \t,")
		n := tagLen(list)
		if n == 0 {
			return false
		}
		if one := list[:n]; one == opaque || !strong && strings.TrimPrefix(one, "W/") == opaque {
			return true
		}
		list = strings.TrimLeft(list[n:], " \t")
		if list == "" || list[0] != ',' {
			return false
		}
	}
}

// ValidTag reports whether s is an entity tag.
func ValidTag(s string) bool { return s != "" && tagLen(s) == len(s) }

// tagLen is the length of the entity tag that s begins with, or 0.
func tagLen(s string) int {
	i := 0
	if strings.HasPrefix(s, "W/") {
		i = 2
	}
	if i == len(s) || s[i] != '"' {
		return 0
	}
	for i++; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c <= ' ' || c == 0x7f:
			return 0
		}
	}
	return 0
}
