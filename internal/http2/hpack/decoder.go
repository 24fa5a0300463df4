package hpack

import (
	"slices"
	"unsafe"
)

// defaultTable is the size of a dynamic table until the settings of the end that decodes are
// known (RFC 9113, 6.5.2), in bytes as RFC 7541, 4.1 counts.
const defaultTable = 4096

// A Span is a piece of a text.
type Span struct{ Off, Len uint32 }

// Of returns the piece of text.
func (s Span) Of(text []byte) []byte { return text[s.Off : s.Off+s.Len : s.Off+s.Len] }

// A Field is one decoded field line, as spans of the text that [Decoder.Decode] appended to.
// The value follows the name in the text.
type Field struct {
	Name, Value Span
	// Index is the first index of the static table with this name, from 1 to 61, however the
	// line was encoded, or 0 if the static table does not have the name.
	Index     uint8
	Sensitive bool // a literal that must never be indexed (RFC 7541, 6.2.3)
}

// A Decoder decodes the header blocks of one connection. [Decoder.Init] comes before anything else.
type Decoder struct {
	table table
	limit uint32 // what a size update may set
}

// Init begins a connection for which SETTINGS_HEADER_TABLE_SIZE was announced, in bytes as
// RFC 7541, 4.1 counts. The peer may use 4,096 bytes until it has seen the announcement, so
// the decoder accepts that much if less was announced.
func (d *Decoder) Init(maxTable int) {
	*d = Decoder{limit: uint32(min(max(maxTable, defaultTable), maxInteger))}
	d.table.max = defaultTable
}

// Decode decodes a complete header block. It appends names and values to text and fields to
// fields and returns both; it may write to the capacity of text after what it returns. It
// keeps neither of them, nor the block.
//
// maxText and maxFields bound what this call appends, in bytes and in lines. The first line
// that does not fit and all lines after it are decoded, for the sake of the table and of
// errors, but not stored; over is true then. A line is never stored in part.
//
// An error is a [Code]. It is a COMPRESSION_ERROR: the connection is lost, and the decoder
// with it.
func (d *Decoder) Decode(block, text []byte, fields []Field, maxText, maxFields int) (_ []byte, _ []Field, over bool, err error) {
	s := store{text: text, fields: fields, maxText: len(text) + limited(maxText), maxFields: len(fields) + limited(maxFields)}
	if code := d.decode(block, &s); code != 0 {
		return s.text, s.fields, s.over, code
	}
	return s.text, s.fields, s.over, nil
}

// limited returns a limit as a number that can be added to a length.
func limited(n int) int { return min(max(n, 0), 1<<30-1) }

func (d *Decoder) decode(block []byte, s *store) Code {
	at, code := d.updates(block)
	for code == 0 && at < len(block) {
		c := block[at]
		switch {
		case c >= 0x80:
			i := uint32(c & 0x7f)
			if at++; i == 0x7f {
				if i, at, code = readLong(block, at, i); code != 0 {
					return code
				}
			}
			code = d.indexed(i, s)
		case c >= 0x40:
			at, code = d.literal(block, at, 6, s)
		case c >= 0x20:
			return ErrUpdate
		default:
			at, code = d.literal(block, at, 4, s)
		}
	}
	return code
}

// updates reads the size updates at the start of a block (RFC 7541, 4.2): one, or two if the
// size was reduced in between.
func (d *Decoder) updates(block []byte) (at int, code Code) {
	for n := 0; at < len(block) && block[at]&0xe0 == 0x20; n++ {
		var size uint32
		if size, at, code = readInteger(block, at, 5); code != 0 {
			return at, code
		}
		if size > d.limit || n == 2 {
			return at, ErrUpdate
		}
		d.table.resize(size)
	}
	return at, 0
}

// indexed stores the line with an index of either table (RFC 7541, 6.1).
func (d *Decoder) indexed(i uint32, s *store) Code {
	if i <= staticCount {
		if i == 0 {
			return ErrIndex
		}
		l := &statics[i]
		if s.over = !s.fits(uint32(l.name + l.value)); !s.over {
			s.copyStatic(l)
			s.add(uint32(l.name), uint32(l.value), l.first, false)
		}
		return 0
	}
	if i -= staticCount + 1; i >= d.table.count {
		return ErrIndex
	}
	l := d.table.line(i)
	if s.over = !s.fits(l.name + l.value); !s.over {
		s.text = d.table.appendTo(s.text, l)
		s.add(l.name, l.value, l.index, false)
	}
	return 0
}

// literal reads a literal at a position of the block (RFC 7541, 6.2). The index of its name
// has a prefix of some bits, which are 6 if the line enters the table. It returns the position
// after the literal.
func (d *Decoder) literal(block []byte, at int, bits uint, s *store) (int, Code) {
	never := block[at]&0xf0 == 0x10
	i, at, code := readInteger(block, at, bits)
	if code != 0 {
		return at, code
	}
	if i > staticCount && i-staticCount > d.table.count {
		return at, ErrIndex
	}
	var name, value coded
	if i == 0 {
		if name, at, code = readString(block, at); code != 0 {
			return at, code
		}
	}
	if value, at, code = readString(block, at); code != 0 {
		return at, code
	}
	if !s.fits(d.bound(i, name) + value.bound()) {
		return at, d.tight(i, name, value, bits, s, never)
	}
	from := len(s.text)
	if code = d.line(i, name, value, s); code != 0 {
		return at, code
	}
	if bits == 6 {
		f := &s.fields[len(s.fields)-1]
		line := unsafe.String(unsafe.SliceData(s.text[from:]), len(s.text)-from) // the table copies it
		d.table.add(f.Index, line[:f.Name.Len], line[f.Name.Len:])
	}
	s.fields[len(s.fields)-1].Sensitive = never
	return at, 0
}

// bound returns how long the name of a literal can be.
func (d *Decoder) bound(i uint32, name coded) uint32 {
	switch {
	case i == 0:
		return name.bound()
	case i <= staticCount:
		return uint32(statics[i].name)
	default:
		return d.table.line(i - staticCount - 1).name
	}
}

// line decodes a literal and stores it; there is room for it.
func (d *Decoder) line(i uint32, name, value coded, s *store) (code Code) {
	from := len(s.text)
	var index uint8
	switch {
	case i == 0:
		if s.text, code = name.appendTo(s.text); code != 0 {
			return code
		}
		n := len(s.text) - from
		index = staticExact(unsafe.String(unsafe.SliceData(s.text[from:]), n))
	case i <= staticCount:
		l := &statics[i]
		s.text = append(s.text, l.text[:l.name]...)
		index = l.first
	default:
		l := d.table.line(i - staticCount - 1)
		s.text = d.table.appendBytes(s.text, l.at, l.name)
		index = l.index
	}
	n := len(s.text) - from
	if s.text, code = value.appendTo(s.text); code != 0 {
		return code
	}
	s.add(uint32(n), uint32(len(s.text)-from-n), index, false)
	return 0
}

// tight decodes a literal that might not fit, or does not: into memory of its own, so that
// nothing that is too long reaches the text.
func (d *Decoder) tight(i uint32, name, value coded, bits uint, s *store, never bool) Code {
	own := store{text: s.spare[:0], fields: make([]Field, 0, 1)}
	if code := d.line(i, name, value, &own); code != 0 {
		return code
	}
	s.spare = own.text
	f := own.fields[0]
	if bits == 6 {
		line := unsafe.String(unsafe.SliceData(own.text), len(own.text)) // the table copies it
		d.table.add(f.Index, line[:f.Name.Len], line[f.Name.Len:])
	}
	if s.over = !s.fits(uint32(len(own.text))); !s.over {
		s.text = append(s.text, own.text...)
		s.add(f.Name.Len, f.Value.Len, f.Index, never)
	}
	return 0
}

// A coded is a string as the block has it (RFC 7541, 5.2).
type coded struct {
	data    []byte
	huffman bool
}

// readString reads the string at a position of the block, and returns the position after it.
func readString(block []byte, at int) (coded, int, Code) {
	n, next, code := readInteger(block, at, 7)
	if code != 0 {
		return coded{}, next, code
	}
	if int(n) > len(block)-next {
		return coded{}, next, ErrTruncated
	}
	end := next + int(n)
	return coded{block[next:end], block[at] >= 0x80}, end, 0
}

// bound returns how long the string can be: no Huffman code is shorter than 5 bits.
func (c coded) bound() uint32 {
	if c.huffman {
		return uint32(len(c.data) * 8 / 5)
	}
	return uint32(len(c.data))
}

// appendTo appends the string.
func (c coded) appendTo(text []byte) ([]byte, Code) {
	if !c.huffman {
		return append(text, c.data...), 0
	}
	if need := huffmanRoom(len(c.data)); cap(text)-len(text) < need {
		text = slices.Grow(text, need)
	}
	return appendHuffmanDecoded(text, c.data)
}

// A store collects decoded lines.
type store struct {
	text      []byte
	fields    []Field
	maxText   int // what the length of text may become
	maxFields int
	over      bool
	spare     []byte // memory for lines that might not fit
}

// fits reports whether a line of n bytes may be stored.
func (s *store) fits(n uint32) bool {
	return !s.over && int(n) <= s.maxText-len(s.text) && len(s.fields) < s.maxFields
}

// copyStatic appends a line of the static table.
func (s *store) copyStatic(l *static) {
	n := len(s.text)
	if cap(s.text)-n < staticRoom {
		s.text = slices.Grow(s.text, staticRoom)
	}
	*(*[staticRoom]byte)(s.text[n : n+staticRoom]) = l.text
	s.text = s.text[:n+int(l.name+l.value)]
}

// add adds the line whose name and value were just appended.
func (s *store) add(name, value uint32, index uint8, sensitive bool) {
	at := uint32(len(s.text)) - name - value
	s.fields = append(s.fields, Field{Name: Span{at, name}, Value: Span{at + name, value}, Index: index, Sensitive: sensitive})
}
