// Package scan finds the end of runs of bytes in HTTP/1.1 messages, many bytes at a time.
// It contains all assembly of the engine.
//
// There are two tools:
//
//   - [Window.Fill] classifies up to [WindowBytes] bytes in one call and leaves
//     bitmaps behind; the header parser walks those with trailing-zero counts.
//     One call serves a whole head, so the cost of calling assembly, which Go
//     cannot inline, is paid once and not twice a field.
//   - [Value], [Token], [Path] and [Query] each measure one run. They serve
//     what the window does not: long values, heads that arrive in pieces,
//     trailers.
//
// The amd64 code needs AVX2, which is detected at run time. Without it, on other
// architectures, and under the build tag purego, the portable code in scan_generic.go runs,
// eight bytes at a time. The assembly is fuzzed against the portable code.
//
// No function reads outside the slice it receives, not even within a page.
package scan

import (
	"encoding/binary"
	"math/bits"
)

// WindowBlocks is the capacity of a [Window] in blocks of 64 bytes.
const WindowBlocks = 16

// WindowBytes is the capacity of a [Window] in bytes.
const WindowBytes = WindowBlocks * 64

// Window holds two bitmaps over a range of bytes: bit i&63 of word i>>6 describes the i-th
// byte. Its zero value is ready for [Window.Fill].
//
//	byte   H  o  s  t  :     a  CR LF
//	Colon  .  .  .  .  1  .  .  .  .
//	Ctl    .  .  .  .  .  .  .  1  1
type Window struct {
	// Ctl marks the bytes that are not allowed in a field value: the control characters
	// other than HTAB, and DEL (RFC 9110, 5.5). CR and LF are among them, so the first mark
	// of a line is its end or its first error.
	Ctl [WindowBlocks]uint64
	// Colon marks ':'.
	Colon [WindowBlocks]uint64
}

// Fill classifies b[from:], at most [WindowBytes] bytes of it, and returns how many bytes
// it classified. It stops early, at a multiple of 64, after the first block in which four
// consecutive marks of Ctl end: that is where a head ends, and the rest is a body or
// another request. Bits past the end of b are zero in the last word; later words are left
// unchanged.
//
// It requires 0 <= from <= len(b).
func (w *Window) Fill(b []byte, from int) int { return w.fill(b, from) }

// Value returns the length of the leading run of bytes that are allowed in a field value:
// everything except control characters other than HTAB, and DEL (RFC 9110, 5.5: VCHAR,
// obs-text, SP, HTAB).
func Value(b []byte) int { return value(b) }

// Token returns the length of the leading run of tchar (RFC 9110, 5.6.2).
func Token(b []byte) int { return token(b) }

// Path returns the length of the leading run of bytes that are allowed in the path of a
// request target and need no processing: VCHAR without '#', '?', which begins the query,
// and '%', which begins an escape. Paths are short: one that ends within a word is not
// worth a vector.
func Path(b []byte) int {
	if len(b) >= 8 {
		if m := pathStops(binary.LittleEndian.Uint64(b)); m != 0 {
			return bits.TrailingZeros64(m) >> 3
		}
	}
	return path(b)
}

// Query returns the length of the leading run of bytes that are allowed in the query of a
// request target: VCHAR without '#', and bytes from 0x80. A URI is ASCII (RFC 3986, 2), but
// clients send UTF-8 in queries, and no server interprets it differently. A request target
// has no fragment (RFC 9112, 3.2).
func Query(b []byte) int { return query(b) }

// IsToken reports whether c is a tchar (RFC 9110, 5.6.2).
func IsToken(c byte) bool { return class[c]&tokenByte != 0 }

// IsValue reports whether c is allowed in a field value (RFC 9110, 5.5).
func IsValue(c byte) bool { return class[c]&valueByte != 0 }
