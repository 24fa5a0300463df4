package sse

// The wire types of protobuf's fields.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// The states of a proto.
const (
	inTag = iota
	inVarint
	inFixed
	inSize
	inBytes
	lost // not a message, or the field was found
)

// A proto finds a field in a protobuf message, and receives the message in pieces. Text that is
// not a message ends the search. The first field with the number counts; groups are not known.
type proto struct {
	value uint64 // of the current varint or fixed-size field; of a tag, or a size, too
	left  uint64 // bytes to go of a field with a fixed size, or a size before it
	state uint8
	shift uint8 // bits that value has
	kind  uint8 // wire type of the current field
	match bool  // the current field is the wanted one
}

// feed consumes the next bytes of the message. A number becomes that of f; text is searched by
// it.
func (p *proto) feed(b []byte, number uint32, path []string, f *finder) {
	for len(b) > 0 && p.state != lost {
		if p.state == inBytes {
			n := int(min(uint64(len(b)), p.left))
			if p.match {
				f.feed(b[:n], path)
			}
			b, p.left = b[n:], p.left-uint64(n)
			p.over(f)
			continue
		}
		c := b[0]
		b = b[1:]
		if p.state == inFixed {
			p.value |= uint64(c) << p.shift
			p.shift += 8
			p.left--
			if p.left == 0 {
				p.number(f)
			}
			continue
		}
		if p.shift > 63 {
			p.state = lost
			return
		}
		p.value |= uint64(c&0x7f) << p.shift
		if p.shift += 7; c < 0x80 {
			p.varint(number, f)
		}
	}
}

// varint handles the end of a varint.
func (p *proto) varint(number uint32, f *finder) {
	switch p.state {
	case inTag:
		p.kind, p.match = uint8(p.value&7), p.value>>3 == uint64(number)
		switch p.kind {
		case wireVarint:
			p.enter(inVarint, 0)
		case wireFixed64:
			p.enter(inFixed, 8)
		case wireFixed32:
			p.enter(inFixed, 4)
		case wireBytes:
			p.enter(inSize, 0)
		default:
			p.state = lost
		}
	case inVarint:
		p.number(f)
	case inSize:
		p.enter(inBytes, p.value)
		p.over(f)
	}
}

// enter begins a part of a field.
func (p *proto) enter(state uint8, left uint64) {
	p.state, p.left, p.value, p.shift = state, left, 0, 0
}

// number ends a field that is a number.
func (p *proto) number(f *finder) {
	if p.match {
		f.set(p.value)
		p.state = lost
		return
	}
	p.enter(inTag, 0)
}

// over ends a field of bytes if none are left.
func (p *proto) over(f *finder) {
	switch {
	case p.left > 0:
	case p.match:
		f.end()
		p.state = lost
	default:
		p.enter(inTag, 0)
	}
}

// set makes v the number that was found.
func (f *finder) set(v uint64) {
	f.number, f.state = number{digits: v, any: true}, done
	for ; v > 0; v /= 10 {
		f.whole++
	}
}
