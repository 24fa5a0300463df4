package hpack

import (
	"encoding/binary"
	"slices"
)

// huffmanBits has the length of the code of every byte (RFC 7541, appendix B), and of the end
// of a string, which is last. The code is canonical: lengths in ascending order, and bytes in
// ascending order within a length, have consecutive codes. So the lengths define it.
var huffmanBits = [257]uint8{
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
	28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
	6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
	5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
	13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
	6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
	20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
	24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
	22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
	21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
	26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
	19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
	20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
	30,
}

const (
	endOfString = 256
	longestCode = 30
	// lookBits is how many bits are looked up at once. With 11, the table takes 8 KB, and
	// the most frequent pairs of codes fit, those of 5 and 6 bits.
	lookBits = 11
)

// huffman is what is calculated from the lengths.
var huffman = *newHuffmanCode()

type huffmanCode struct {
	// look maps the next bits to up to two bytes. If it is 0, the code is longer.
	//
	//	bits 0-7 first byte, 8-15 second byte, 16-19 bits of the first, 20-24 bits of
	//	all, 25-26 number of bytes
	look  [1 << lookBits]uint32
	codes [257]uint32 // right-aligned
	// Codes longer than lookBits: the first code above those of each length,
	// left-aligned, and the place in order of its first code.
	above [longestCode + 1]uint64
	first [longestCode + 1]uint32
	order [257]uint16 // bytes in the order of their codes
	place [longestCode + 1]uint16
}

func newHuffmanCode() *huffmanCode {
	h := new(huffmanCode)
	for i := range h.order {
		h.order[i] = uint16(i)
	}
	slices.SortStableFunc(h.order[:], func(a, b uint16) int { return int(huffmanBits[a]) - int(huffmanBits[b]) })
	code, bits := uint32(0), uint8(0)
	for i, s := range h.order {
		if n := huffmanBits[s]; n != bits {
			code <<= n - bits
			bits = n
			h.first[bits], h.place[bits] = code, uint16(i)
		}
		h.codes[s] = code
		code++
		h.above[bits] = uint64(code) << (32 - bits)
	}
	for a := range 256 {
		h.fill(a)
	}
	return h
}

// fill enters what begins with one byte into the table.
func (h *huffmanCode) fill(a int) {
	n := uint32(huffmanBits[a])
	if n > lookBits {
		return
	}
	base := h.codes[a] << (lookBits - n)
	for i := range uint32(1) << (lookBits - n) {
		h.look[base+i] = uint32(a) | n<<16 | n<<20 | 1<<25
	}
	for b := range 256 {
		m := uint32(huffmanBits[b])
		if n+m > lookBits {
			continue
		}
		low := lookBits - n - m
		for i := range uint32(1) << low {
			h.look[base+h.codes[b]<<low+i] = uint32(a) | uint32(b)<<8 | n<<16 | (n+m)<<20 | 2<<25
		}
	}
}

// long decodes a code of more than lookBits bits at the start of bits. It returns no bits for
// the end of a string.
func (h *huffmanCode) long(bits uint32) (b byte, n uint) {
	for n = lookBits + 1; n <= longestCode; n++ {
		if uint64(bits) >= h.above[n] {
			continue
		}
		s := h.order[uint32(h.place[n])+bits>>(32-n)-h.first[n]]
		if s == endOfString {
			break
		}
		return byte(s), n
	}
	return 0, 0
}

// huffmanRoom is the room that [appendHuffmanDecoded] needs for n bytes of code: no code is
// shorter than 5 bits, and two bytes are written at a time.
func huffmanRoom(n int) int { return n/5*8 + 10 }

// appendHuffmanDecoded appends what src encodes (RFC 7541, 5.2). dst must have huffmanRoom.
func appendHuffmanDecoded(dst, src []byte) ([]byte, Code) {
	out, j := dst[:cap(dst)], len(dst)
	var bits uint64 // left-aligned
	n := uint(0)    // valid ones; those after them are 0 or what follows in src
	i := 0
	for i+8 <= len(src) {
		bits |= binary.BigEndian.Uint64(src[i:]) >> n
		i += int(63-n) >> 3
		n |= 56
		for range 56 / lookBits {
			e := huffman.look[bits>>(64-lookBits)]
			if e == 0 {
				if n < longestCode {
					break
				}
				b, l := huffman.long(uint32(bits >> 32))
				if l == 0 {
					return dst, ErrHuffman
				}
				out[j] = b
				j, bits, n = j+1, bits<<l, n-l
				break
			}
			out[j], out[j+1] = byte(e), byte(e>>8)
			j += int(e >> 25)
			l := uint(e>>20) & 31
			bits, n = bits<<l, n-l
		}
	}
	bits &^= ^uint64(0) >> n
	for {
		for ; i < len(src) && n <= 56; i++ {
			bits |= uint64(src[i]) << (56 - n)
			n += 8
		}
		e := huffman.look[bits>>(64-lookBits)]
		l := uint(e>>20) & 31
		if e != 0 && l <= n {
			out[j], out[j+1] = byte(e), byte(e>>8)
			j += int(e >> 25)
			bits, n = bits<<l, n-l
			continue
		}
		var b byte
		if e != 0 {
			b, l = byte(e), uint(e>>16)&15
		} else {
			b, l = huffman.long(uint32(bits >> 32))
		}
		if l == 0 || l > n {
			break
		}
		out[j] = b
		j, bits, n = j+1, bits<<l, n-l
	}
	// What remains is padding: fewer than 8 bits, all 1.
	if n > 7 || bits != ^(^uint64(0)>>n) {
		return dst, ErrHuffman
	}
	return out[:j], 0
}

// huffmanLength returns how many bytes s takes in Huffman code.
func huffmanLength(s string) int {
	n := 0
	for i := range len(s) {
		n += int(huffmanBits[s[i]])
	}
	return (n + 7) / 8
}

// appendHuffman appends s in Huffman code.
func appendHuffman(b []byte, s string) []byte {
	var bits uint64 // right-aligned
	n := uint(0)
	for i := range len(s) {
		c := s[i]
		l := uint(huffmanBits[c])
		bits, n = bits<<l|uint64(huffman.codes[c]), n+l
		if n >= 32 {
			n -= 32
			b = binary.BigEndian.AppendUint32(b, uint32(bits>>n))
		}
	}
	for ; n >= 8; n -= 8 {
		b = append(b, byte(bits>>(n-8)))
	}
	if n > 0 {
		b = append(b, byte(bits<<(8-n))|0xff>>n)
	}
	return b
}
