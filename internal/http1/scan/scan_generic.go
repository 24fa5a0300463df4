package scan

import (
	"encoding/binary"
	"math/bits"
)

// Classes of bytes, as bits of class.
const (
	tokenByte = 1 << iota
	valueByte
	pathByte
	queryByte
)

// class is the definition of every class; the word-at-a-time and the vector code are other
// implementations of it, and tests compare them with it.
var class = buildClass()

func buildClass() (t [256]uint8) {
	for c := 0x20; c < 0x100; c++ {
		t[c] |= valueByte
	}
	t['\t'] |= valueByte
	t[0x7f] &^= valueByte
	for c := 0x21; c < 0x7f; c++ {
		t[c] |= pathByte
	}
	t['#'] &^= pathByte
	t['%'] &^= pathByte
	t['?'] &^= pathByte
	for c := 0x21; c < 0x100; c++ {
		t[c] |= queryByte
	}
	t['#'] &^= queryByte
	t[0x7f] &^= queryByte
	for c := '0'; c <= '9'; c++ {
		t[c] |= tokenByte
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= tokenByte
		t[c-'a'+'A'] |= tokenByte
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		t[c] |= tokenByte
	}
	return t
}

// isPath reports whether c is allowed in a path and needs no processing; see [Path].
func isPath(c byte) bool { return class[c]&pathByte != 0 }

// isQuery reports whether c is allowed in a query; see [Query].
func isQuery(c byte) bool { return class[c]&queryByte != 0 }

// A word of eight bytes, each with the same value.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
	lows  = 0x7f * ones
)

// equal sets the high bit of every byte of x that equals the byte repeated in
// pattern, and no other bit. It is exact: no carry crosses a byte.
func equal(x, pattern uint64) uint64 {
	z := x ^ pattern
	return ^((z&lows + lows) | z) & highs
}

// below sets the high bit of every byte of x that is less than limit, which must
// be at most 0x80.
func below(x, limit uint64) uint64 {
	return ^((x | highs) - limit*ones) & ^x & highs
}

// ctlBits sets the high bit of every byte of x that is not allowed in a value.
func ctlBits(x uint64) uint64 {
	return below(x, 0x20)&^equal(x, '\t'*ones) | equal(x, 0x7f*ones)
}

// pathStops finds the first byte of x that does not belong to a path. The least set bit of
// the result is the high bit of that byte; if there is no such byte, no bit is set. Bits
// above it are meaningless, because carries and borrows start at such bytes.
func pathStops(x uint64) uint64 {
	hash, percent, question := x^'#'*ones, x^'%'*ones, x^'?'*ones
	return ((x-0x21*ones)&^x | (x + ones) | x |
		(hash-ones)&^hash | (percent-ones)&^percent | (question-ones)&^question) & highs
}

// queryStops sets the high bit of every byte of x that is not allowed in a query.
func queryStops(x uint64) uint64 {
	return below(x, 0x21) | equal(x, 0x7f*ones) | equal(x, '#'*ones)
}

// gather moves the eight high bits of x's bytes to the low eight bits.
func gather(x uint64) uint64 {
	return (x >> 7) * 0x0102040810204080 >> 56
}

// fillGeneric is [Window.Fill] in portable code.
func (w *Window) fillGeneric(b []byte, from int) int {
	b = b[from:]
	if len(b) > WindowBytes {
		b = b[:WindowBytes]
	}
	n, last := 0, uint64(0)
	for i := 0; n < len(b); i++ {
		block := b[n:min(n+64, len(b))]
		ctl, colon := classify(block)
		w.Ctl[i], w.Colon[i] = ctl, colon
		n += len(block)
		if endsHead(last, ctl) {
			break
		}
		last = ctl
	}
	return n
}

// classify returns the bitmaps of at most 64 bytes.
func classify(block []byte) (ctl, colon uint64) {
	i := 0
	for ; i+8 <= len(block); i += 8 {
		x := binary.LittleEndian.Uint64(block[i:])
		ctl |= gather(ctlBits(x)) << i
		colon |= gather(equal(x, ':'*ones)) << i
	}
	for ; i < len(block); i++ {
		if !IsValue(block[i]) {
			ctl |= 1 << i
		}
		if block[i] == ':' {
			colon |= 1 << i
		}
	}
	return ctl, colon
}

// endsHead reports whether four consecutive set bits end in m; up to three of them may be
// the last bits of the previous word.
func endsHead(before, m uint64) bool {
	run := m & (m >> 1)
	run &= run >> 2
	over := m<<3 | before>>61
	over &= over >> 1
	over &= over >> 2
	return run|over != 0
}

// valueGeneric is [Value] in portable code.
func valueGeneric(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if m := ctlBits(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b) && IsValue(b[i]); i++ {
	}
	return i
}

// tokenGeneric is [Token] in portable code. Names are short and the class is irregular, so
// it works byte by byte.
func tokenGeneric(b []byte) int {
	i := 0
	for ; i < len(b) && IsToken(b[i]); i++ {
	}
	return i
}

// pathGeneric is [Path] in portable code.
func pathGeneric(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if m := pathStops(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b) && isPath(b[i]); i++ {
	}
	return i
}

// queryGeneric is [Query] in portable code.
func queryGeneric(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if m := queryStops(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b) && isQuery(b[i]); i++ {
	}
	return i
}
