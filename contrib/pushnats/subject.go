package pushnats

import (
	"errors"
	"strings"

	"github.com/redline-go/redline/push/topic"
)

// plain reports the characters that names of streams and prefixes consist of.
func plain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}

// special are the bytes that a token of a subject, or the ends of a header's value, cannot
// hold, with the one that marks them.
const special = ".*> %"

const hexDigits = "0123456789ABCDEF"

// escape writes special bytes as %XX.
func escape(s string) string {
	if !strings.ContainsAny(s, special) {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(special, c) >= 0 {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// unescape is the reverse of escape. It reports false for what escape does not write.
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return "", false
			}
			high, low := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			if c = byte(high<<4 | low); strings.IndexByte(special, c) < 0 {
				return "", false
			}
			i += 2
		}
		b = append(b, c)
	}
	return string(b), true
}

// subject returns the subject of a topic.
func subject(prefix, name string) string {
	var b strings.Builder
	b.Grow(len(prefix) + len(name) + 8)
	b.WriteString(prefix)
	for segment := range strings.SplitSeq(name, "/") {
		b.WriteByte('.')
		if segment == "" {
			segment = "%"
		} else {
			segment = escape(segment)
		}
		b.WriteString(segment)
	}
	return b.String()
}

var errSubject = errors.New("the subject names no topic")

// topicOf is the reverse of subject.
func topicOf(prefix, subj string) (string, error) {
	rest, ok := strings.CutPrefix(subj, prefix+".")
	if !ok {
		return "", errSubject
	}
	segments := strings.Split(rest, ".")
	for i, s := range segments {
		if s == "%" {
			segments[i] = ""
			continue
		}
		if segments[i], ok = unescape(s); !ok || s == "" || strings.Contains(s, "/") {
			return "", errSubject
		}
	}
	name := strings.Join(segments, "/")
	return name, topic.CheckName(name)
}

// filters appends the subjects that select what a topic or pattern selects, no less: a
// pattern that ends with ** selects the topic before it too.
func filters(dst []string, prefix, pattern string) []string {
	subj := prefix
	for i, segment := range strings.Split(pattern, "/") {
		switch segment {
		case "**":
			if i > 0 {
				dst = append(dst, subj)
			}
			subj += ".>"
		case "*":
			subj += ".*"
		default:
			subj = subject(subj, segment)
		}
	}
	return append(dst, subj)
}
