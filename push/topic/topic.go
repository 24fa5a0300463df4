package topic

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of names and patterns.
const (
	MaxLen      = 512 // bytes
	MaxSegments = 32
)

// The segments that make a name a pattern.
const (
	one  = "*"  // one segment
	rest = "**" // any number of segments, at the end
)

// An Error says why a text is not a name or a pattern.
type Error struct {
	Text string // the beginning of it
	Why  string // what is wrong, and what is right
}

// Error quotes the text.
func (e *Error) Error() string { return "topic " + strconv.Quote(e.Text) + ": " + e.Why }

func refuse(s, why string) error {
	const shown = 64
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "") + "..."
	}
	return &Error{Text: s, Why: why}
}

// CheckName reports why s cannot be the name of a topic, as an [*Error], or nil.
func CheckName(s string) error {
	if err := check(s); err != nil {
		return err
	}
	if IsPattern(s) {
		return refuse(s, "an event has one topic: name it without a segment * or **")
	}
	return nil
}

// CheckPattern reports why s cannot be a name or a pattern, as an [*Error], or nil.
func CheckPattern(s string) error {
	if err := check(s); err != nil {
		return err
	}
	if i := strings.Index("/"+s+"/", "/"+rest+"/"); i >= 0 && i+len(rest) != len(s) {
		return refuse(s, "the segment ** must be the last")
	}
	return nil
}

// Join returns the name that has these segments, for names and grants that are made of what
// users have chosen: one that is empty, contains "/", or is "*" or "**" would name something
// else, and is refused. The error is an [*Error].
//
//	mine, err := topic.Join("users", user.ID)
//	return []string{mine + "/**", "news"}, err
func Join(segments ...string) (string, error) {
	for _, s := range segments {
		switch {
		case s == "":
			return "", refuse(s, "a segment is empty: name it")
		case s == one, s == rest:
			return "", refuse(s, "a segment that is * or ** would select others: use another name")
		case strings.Contains(s, "/"):
			return "", refuse(s, "a segment contains /, and would be several: use another name, or encode it")
		}
	}
	name := strings.Join(segments, "/")
	if err := CheckName(name); err != nil {
		return "", err
	}
	return name, nil
}

func check(s string) error {
	switch {
	case s == "":
		return refuse(s, "it is empty: name at least one segment")
	case len(s) > MaxLen:
		return refuse(s, "it is longer than "+strconv.Itoa(MaxLen)+" bytes: use a shorter name")
	case strings.Count(s, "/") >= MaxSegments:
		return refuse(s, "it has more than "+strconv.Itoa(MaxSegments)+" segments: use fewer")
	case !utf8.ValidString(s):
		return refuse(s, "it is not UTF-8")
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return refuse(s, "it contains a control character: leave it out")
		}
	}
	return nil
}

// IsPattern reports whether s has a segment with a meaning of its own. It allocates nothing.
func IsPattern(s string) bool {
	if strings.IndexByte(s, '*') < 0 {
		return false
	}
	for more := true; more; {
		var segment string
		segment, s, more = strings.Cut(s, "/")
		if segment == one || segment == rest {
			return true
		}
	}
	return false
}

// Match reports whether a pattern selects a name. Both have been checked.
func Match(pattern, name string) bool {
	for {
		p, ps, pmore := strings.Cut(pattern, "/")
		if p == rest {
			return true
		}
		n, ns, nmore := strings.Cut(name, "/")
		switch {
		case p != one && p != n:
			return false
		case !nmore:
			return !pmore || ps == rest
		case !pmore:
			return false
		}
		pattern, name = ps, ns
	}
}

// Covers reports whether a pattern selects every name that another pattern selects. Both
// have been checked.
func Covers(pattern, other string) bool {
	for {
		p, ps, pmore := strings.Cut(pattern, "/")
		if p == rest {
			return true
		}
		o, os, omore := strings.Cut(other, "/")
		switch {
		case o == rest, p != one && p != o:
			return false
		case !omore:
			return !pmore || ps == rest
		case !pmore:
			return false
		}
		pattern, other = ps, os
	}
}

// Overlaps reports whether there is a name that two patterns, or names, both select. Both have been
// checked.
func Overlaps(a, b string) bool {
	for {
		s, as, amore := strings.Cut(a, "/")
		t, bs, bmore := strings.Cut(b, "/")
		switch {
		case s == rest || t == rest:
			return true
		case s != t && s != one && t != one:
			return false
		case !amore:
			return !bmore || bs == rest
		case !bmore:
			return as == rest
		}
		a, b = as, bs
	}
}
