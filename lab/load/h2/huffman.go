package h2

// huffmanBits is the length of every symbol's code, RFC 7541, appendix B. The code is
// canonical: the codes follow from lengths and order of the symbols. Symbol 256 is EOS, 30
// ones, of which only a prefix may occur, as padding.
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
	huffmanMost = 30 // bits of the longest code
	huffmanEOS  = 256
)

// huffmanTables are the code in the forms that encoding and decoding need.
type huffmanTables struct {
	code  [257]uint32
	short [256]struct{ symbol, bits uint8 } // by the next 8 bits; bits is 0 if the code is longer
	// The codes of each length are consecutive numbers, for consecutive positions in order.
	first [huffmanMost + 1]uint32
	count [huffmanMost + 1]uint32
	place [huffmanMost + 1]uint32
	order [257]uint16
}

var huffman = newHuffman()

func newHuffman() *huffmanTables {
	t := new(huffmanTables)
	code, place := uint32(0), uint32(0)
	for bits := uint8(1); bits <= huffmanMost; bits++ {
		code <<= 1
		t.first[bits], t.place[bits] = code, place
		for symbol, n := range huffmanBits {
			if n != bits {
				continue
			}
			t.code[symbol], t.order[place] = code, uint16(symbol)
			for i := uint32(0); bits <= 8 && i < 1<<(8-bits); i++ {
				s := &t.short[code<<(8-bits)|i]
				s.symbol, s.bits = uint8(symbol), bits
			}
			code++
			place++
		}
		t.count[bits] = code - t.first[bits]
	}
	return t
}

// unhuffman appends the decoded src, and reports whether it is valid: it must end with
// fewer than eight ones, RFC 7541, section 5.2.
func unhuffman(dst, src []byte) ([]byte, bool) {
	var window uint64 // the next bits, from the top
	bits := uint(0)
	for {
		for bits <= 56 && len(src) > 0 {
			window |= uint64(src[0]) << (56 - bits)
			src = src[1:]
			bits += 8
		}
		if s := huffman.short[window>>56]; s.bits != 0 {
			if uint(s.bits) > bits {
				break
			}
			dst = append(dst, s.symbol)
			window <<= s.bits
			bits -= uint(s.bits)
			continue
		}
		symbol, n := huffman.long(uint32(window >> 32))
		if n > bits {
			break
		}
		if symbol == huffmanEOS {
			return dst, false
		}
		dst = append(dst, byte(symbol))
		window <<= n
		bits -= n
	}
	return dst, bits < 8 && window>>(64-bits) == 1<<bits-1
}

// long returns the symbol with more than 8 bits that w begins with.
func (t *huffmanTables) long(w uint32) (symbol uint16, bits uint) {
	for n := uint(9); n < huffmanMost; n++ {
		if at := w>>(32-n) - t.first[n]; at < t.count[n] {
			return t.order[t.place[n]+at], n
		}
	}
	// The code is complete: the remaining symbols have 30 bits.
	return t.order[t.place[huffmanMost]+(w>>(32-huffmanMost)-t.first[huffmanMost])], huffmanMost
}

// huffmanSize returns the size of the encoded s in bytes.
func huffmanSize(s []byte) int {
	bits := 0
	for _, c := range s {
		bits += int(huffmanBits[c])
	}
	return (bits + 7) / 8
}

// appendHuffman appends the encoded s.
func appendHuffman(dst, s []byte) []byte {
	var window uint64 // bits not written yet, at the bottom
	bits := uint(0)
	for _, c := range s {
		n := uint(huffmanBits[c])
		window = window<<n | uint64(huffman.code[c])
		for bits += n; bits >= 8; {
			bits -= 8
			dst = append(dst, byte(window>>bits))
		}
	}
	if bits > 0 {
		dst = append(dst, byte(window<<(8-bits))|byte(1<<(8-bits)-1))
	}
	return dst
}
