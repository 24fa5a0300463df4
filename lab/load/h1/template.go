package h1

import "bytes"

// maxTemplate is the maximum length of a template: for longer responses the kernel's
// copying dominates the cost of the parser.
const maxTemplate = smallBody + 4<<10

// Template is the last right response, whole: head, framing and body. A response that
// repeats it byte for byte is right as well, because the parser depends only on the bytes.
// That comparison takes some nanoseconds, and leaves nothing unchecked. If a byte differs
// (the Date field changes once a second) the full parser decides, and its response becomes
// the new template.
type Template struct {
	answer []byte
}

// Size returns the length of the response, 0 if there is none yet.
func (t *Template) Size() int { return len(t.answer) }

// Match returns how many copies of the response, at most limit, in begins with.
func (t *Template) Match(in []byte, limit int) int {
	size, n := len(t.answer), 0
	if size == 0 {
		return 0
	}
	for n < limit && len(in) >= size && bytes.Equal(in[:size], t.answer) {
		in = in[size:]
		n++
	}
	return n
}

// Learn stores a whole response that the parser found right, with every byte of its body
// compared, and after which the connection continues.
func (t *Template) Learn(answer []byte) {
	if len(answer) <= maxTemplate {
		t.answer = append(t.answer[:0], answer...)
	}
}
