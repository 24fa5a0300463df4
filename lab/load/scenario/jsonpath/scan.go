package jsonpath

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the type of a value.
type Kind uint8

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one value of a JSON text, in its original form.
type Value struct {
	Kind Kind
	Raw  []byte // refers to the text; a string with its quotes
}

// Text returns the text of a string, or Raw for other values. A string without escapes
// refers to the JSON text; others are decoded into buf, which is overwritten, and grows if
// necessary. Invalid escapes become U+FFFD.
func (v Value) Text(buf *[]byte) []byte {
	if v.Kind != String {
		return v.Raw
	}
	inner := v.Raw[1 : len(v.Raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	*buf = unescape((*buf)[:0], inner)
	return *buf
}

// value classifies a whole value by its first byte.
func value(raw []byte) (Value, bool) {
	switch raw[0] {
	case '"':
		return Value{String, raw}, true
	case '{':
		return Value{Object, raw}, true
	case '[':
		return Value{Array, raw}, true
	case 't', 'f':
		return Value{Bool, raw}, string(raw) == "true" || string(raw) == "false"
	case 'n':
		return Value{Null, raw}, string(raw) == "null"
	default:
		return Value{Number, raw}, raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	}
}

// space returns where the white space at doc[at:] ends.
func space(doc []byte, at int) int {
	for at < len(doc) && (doc[at] == ' ' || doc[at] == '\n' || doc[at] == '\t' || doc[at] == '\r') {
		at++
	}
	return at
}

// skip returns the end of the value at doc[at:]. Nesting is counted without recursion, so a
// hostile depth is harmless.
func skip(doc []byte, at int) (int, bool) {
	depth := 0
	for at < len(doc) {
		switch c := doc[at]; c {
		case '"':
			end, ok := skipString(doc, at)
			if !ok {
				return 0, false
			}
			at = end
		case '{', '[':
			depth++
			at++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return 0, false
			}
			at++
		case ' ', '\n', '\t', '\r', ',', ':':
			if depth == 0 {
				return 0, false
			}
			at++
			continue
		default:
			for at < len(doc) && !ends(doc[at]) {
				at++
			}
		}
		if depth == 0 {
			return at, true
		}
	}
	return 0, false
}

// ends reports whether c ends a number or a word.
func ends(c byte) bool {
	switch c {
	case ' ', '\n', '\t', '\r', ',', ':', '{', '}', '[', ']', '"':
		return true
	}
	return false
}

// skipString returns the end of the string whose opening quote is at doc[at].
func skipString(doc []byte, at int) (int, bool) {
	for at++; at < len(doc); {
		next := bytes.IndexByte(doc[at:], '"')
		if next < 0 {
			return 0, false
		}
		back := at + next - 1
		for back >= at && doc[back] == '\\' {
			back--
		}
		at += next + 1
		if (at-2-back)%2 == 0 { // an even number of backslashes escapes only itself
			return at, true
		}
	}
	return 0, false
}

// find returns where the value of a member begins in the object at doc[at:].
func find(doc []byte, at int, name string) (int, bool) {
	if at >= len(doc) || doc[at] != '{' {
		return 0, false
	}
	for at = space(doc, at+1); at < len(doc) && doc[at] == '"'; {
		end, ok := skipString(doc, at)
		if !ok {
			return 0, false
		}
		key := doc[at:end]
		if at = space(doc, end); at >= len(doc) || doc[at] != ':' {
			return 0, false
		}
		at = space(doc, at+1)
		if is(key, name) {
			return at, at < len(doc)
		}
		if at, ok = next(doc, at); !ok {
			return 0, false
		}
	}
	return 0, false
}

// is reports whether a quoted key equals name.
func is(key []byte, name string) bool {
	inner := key[1 : len(key)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	var buf [64]byte
	return string(unescape(buf[:0], inner)) == name
}

// next skips the value at doc[at:] and the comma after it. Without a comma there is no next
// value.
func next(doc []byte, at int) (int, bool) {
	at, ok := skip(doc, at)
	if !ok {
		return 0, false
	}
	if at = space(doc, at); at >= len(doc) || doc[at] != ',' {
		return 0, false
	}
	return space(doc, at+1), true
}

// element returns where an element begins in the array at doc[at:]; -1 is the last element.
func element(doc []byte, at, index int) (int, bool) {
	if at >= len(doc) || doc[at] != '[' {
		return 0, false
	}
	first := space(doc, at+1)
	if first >= len(doc) || doc[first] == ']' {
		return 0, false
	}
	if index < 0 {
		n := 1
		for at, ok := next(doc, first); ok; at, ok = next(doc, at) {
			n++
		}
		if index += n; index < 0 {
			return 0, false
		}
	}
	at = first
	for ok := true; index > 0; index-- {
		if at, ok = next(doc, at); !ok {
			return 0, false
		}
	}
	return at, true
}

// unescape appends the decoded inside of a JSON string, RFC 8259, section 7.
func unescape(dst, s []byte) []byte {
	for len(s) > 0 {
		at := bytes.IndexByte(s, '\\')
		if at < 0 || at+1 >= len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:at]...)
		c := s[at+1]
		s = s[at+2:]
		switch c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			var r rune
			r, s = code(s)
			dst = utf8.AppendRune(dst, r)
		default:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
	}
	return dst
}

// code parses the digits after \u, with the second half of a surrogate pair.
func code(s []byte) (rune, []byte) {
	r, ok := hex4(s)
	if !ok {
		return utf8.RuneError, s
	}
	s = s[4:]
	if !utf16.IsSurrogate(r) {
		return r, s
	}
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if low, ok := hex4(s[2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, s[6:]
			}
		}
	}
	return utf8.RuneError, s
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
