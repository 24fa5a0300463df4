package main

import "encoding/binary"

// blankLine is the end of a request's head, CRLFCRLF, as a little-endian word.
const blankLine = 0x0a0d0a0d

// countHeads counts the ends of heads (CRLFCRLF) in b, without overlaps. matched
// is how much of a CRLFCRLF, 0 to 3 bytes, the bytes before b ended with; the
// second result is the same for the bytes after b.
func countHeads(b []byte, matched int) (heads, matchedAfter int) {
	// An end that began before b is followed byte by byte. So is the rest of it if it was
	// not an end: a CR may start another one.
	i := 0
	for matched > 0 && i < len(b) {
		matched = step(matched, b[i])
		i++
		if matched == 4 {
			heads++
			matched = 0
		}
	}
	if matched > 0 {
		return heads, matched
	}
	n, rest := countWhole(b[i:])
	for _, char := range rest {
		matched = step(matched, char)
	}
	return heads + n, matched
}

// step is the automaton that recognises CRLFCRLF: matched bytes of it have been read, char
// is the next one.
func step(matched int, char byte) int {
	switch {
	case char == '\r' && matched&1 == 0:
		return matched + 1
	case char == '\n' && matched&1 == 1:
		return matched + 1
	case char == '\r':
		return 1
	default:
		return 0
	}
}

// countWhole counts the CRLFCRLF that lie within b, and gives the bytes at the end
// of b, at most three, with which another may begin.
//
// A CRLFCRLF covers four bytes, so looking at one byte in four finds all; in a
// request's head nearly all bytes are above CR, and then none covers this byte.
// i is always where the next CRLFCRLF may end at the earliest. This takes 12 ns
// for a head of 48 bytes and 86 ns for 850, where bytes.Count takes 14 and 122,
// and 160 against 280 ns for sixteen short heads.
func countWhole(b []byte) (heads int, rest []byte) {
	i := 3
	for {
		for i+12 < len(b) && b[i] > '\r' && b[i+4] > '\r' && b[i+8] > '\r' && b[i+12] > '\r' {
			i += 16
		}
		for i < len(b) && b[i] > '\r' {
			i += 4
		}
		switch {
		case i >= len(b):
			// The next one cannot begin before i-3.
			return heads, b[min(i-3, len(b)):]
		case b[i] != '\n':
			i++
		case binary.LittleEndian.Uint32(b[i-3:]) == blankLine:
			heads++
			i += 4
		default:
			i += 2 // this LF may be the first of the two
		}
	}
}
