package h1

import "bytes"

// maxTemplate bounds the length of answers that are worth remembering: beyond it
// the kernel's copying dwarfs the parser.
const maxTemplate = smallBody + 4<<10

// Template is the last right answer, whole: head, framing and body. An answer
// that repeats it byte for byte is right as well, since the parser depends on
// nothing but the bytes; that comparison costs some nanoseconds, and it leaves
// nothing unchecked. When a byte moved (the Date field does so once a second) the
// full parser decides, and its answer becomes the new template.
type Template struct {
	answer []byte
}

// Size is the length of the answer, 0 if there is none yet.
func (t *Template) Size() int { return len(t.answer) }

// Match returns how many answers, limit at most, stand at the start of in one
// after the other.
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

// Learn remembers a whole answer that the parser found right, with every byte
// of its body compared, and after which the connection goes on.
func (t *Template) Learn(answer []byte) {
	if len(answer) <= maxTemplate {
		t.answer = append(t.answer[:0], answer...)
	}
}
