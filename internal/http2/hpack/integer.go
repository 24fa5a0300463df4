package hpack

// maxInteger is the largest integer that is accepted: four bytes after the prefix.
const maxInteger = 1<<28 - 1

// appendInteger appends an integer with a prefix of some bits (RFC 7541, 5.1). first holds the
// bits before the prefix.
func appendInteger(b []byte, first byte, bits uint, v uint32) []byte {
	mask := uint32(1)<<bits - 1
	if v < mask {
		return append(b, first|byte(v))
	}
	b = append(b, first|byte(mask))
	for v -= mask; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// readInteger reads the integer whose prefix, of some bits, is in block[at]. It returns the
// position after it.
func readInteger(block []byte, at int, bits uint) (v uint32, next int, code Code) {
	if at >= len(block) {
		return 0, at, ErrTruncated
	}
	mask := uint32(1)<<bits - 1
	v = uint32(block[at]) & mask
	at++
	if v < mask {
		return v, at, 0
	}
	return readLong(block, at, v)
}

// readLong reads the bytes of an integer that follow its prefix.
func readLong(block []byte, at int, v uint32) (uint32, int, Code) {
	for shift := uint(0); shift < 28; shift += 7 {
		if at >= len(block) {
			return 0, at, ErrTruncated
		}
		c := block[at]
		at++
		v += uint32(c&0x7f) << shift
		if c < 0x80 {
			if v > maxInteger {
				return 0, at, ErrInteger
			}
			return v, at, 0
		}
	}
	return 0, at, ErrInteger
}
