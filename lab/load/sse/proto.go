package sse

import "math"

// The wire types of protobuf's fields.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// The parts of a message that a finder can be in. The wanted field has the flag wanted as well.
const (
	inTag = iota
	inVarint
	inFixed
	inSize
	inBytes
	nowhere // not a message, or the field was found
	wanted  = 0x80
)

// unwrap consumes the next bytes of a record that is a protobuf message, and finds the field with
// a number in it: a number is what is looked for, and text is searched for it. Bytes that are not
// a message end the search. The first field with the number counts; groups are not known.
//
// Until the field is found, digits holds the current varint or fixed-size value.
func (f *finder) unwrap(b []byte, number uint32, path []string) {
	for len(b) > 0 && f.part != nowhere {
		if f.part&^wanted == inBytes {
			n := int(min(uint64(len(b)), uint64(f.left)))
			if f.part&wanted != 0 {
				f.feed(b[:n], path)
			}
			b, f.left = b[n:], f.left-uint32(n)
			f.endField()
			continue
		}
		c := b[0]
		b = b[1:]
		switch {
		case f.part&^wanted == inFixed:
			f.digits |= uint64(c) << f.shift
			f.shift += 8
			if f.left--; f.left == 0 {
				f.endNumber()
			}
		case f.shift > 63:
			f.lose()
		default:
			f.digits |= uint64(c&0x7f) << f.shift
			if f.shift += 7; c < 0x80 {
				f.endVarint(number)
			}
		}
	}
}

// lose ends the search without a result.
func (f *finder) lose() { f.number, f.part = number{}, nowhere }

// endVarint handles the end of a varint.
func (f *finder) endVarint(number uint32) {
	value := f.digits
	switch f.part &^ wanted {
	case inTag:
		match := uint8(0)
		if value>>3 == uint64(number) {
			match = wanted
		}
		switch value & 7 {
		case wireVarint:
			f.enter(inVarint|match, 0)
		case wireFixed64:
			f.enter(inFixed|match, 8)
		case wireFixed32:
			f.enter(inFixed|match, 4)
		case wireBytes:
			f.enter(inSize|match, 0)
		default:
			f.lose()
		}
	case inVarint:
		f.endNumber()
	default: // inSize
		if value > math.MaxInt32 { // longer than any record
			f.lose()
			return
		}
		f.enter(inBytes|f.part&wanted, uint32(value))
		f.endField()
	}
}

// enter begins a part of a field, of which left bytes are to come, if that is known.
func (f *finder) enter(part uint8, left uint32) {
	f.part, f.left, f.digits, f.shift = part, left, 0, 0
}

// endNumber ends a field that is a number.
func (f *finder) endNumber() {
	if f.part&wanted == 0 {
		f.enter(inTag, 0)
		return
	}
	f.number, f.state, f.part = number{digits: f.digits, any: true}, done, nowhere
	for v := f.digits; v > 0; v /= 10 {
		f.whole++
	}
}

// endField ends a field of bytes, if none are left.
func (f *finder) endField() {
	switch {
	case f.left > 0:
	case f.part&wanted != 0:
		f.end()
		f.part = nowhere
	default:
		f.enter(inTag, 0)
	}
}
