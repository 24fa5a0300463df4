package h2

import "bytes"

// encoder encodes the header blocks of a connection, RFC 7541. Its copy of the server's
// dynamic table only grows, until it is full.
type encoder struct {
	table   []*field // oldest first
	size    int
	limit   int
	resize  bool    // the next block begins by emptying the table
	changes uint32  // of the table, from 1
	blocks  []block // by Request.index
}

// block is an encoded request, valid as long as the table does not change.
type block struct {
	bytes   []byte
	changes uint32 // value when it was encoded; 0: there is no block
}

// setLimit applies the server's SETTINGS_HEADER_TABLE_SIZE. If it is smaller than the used
// size, the table is emptied.
func (e *encoder) setLimit(n uint32) {
	limit := int(min(n, tableSize))
	if limit == e.limit {
		return
	}
	e.limit = limit
	e.table, e.size, e.resize = e.table[:0], 0, true
	e.changes++
}

// append appends the header block of r.
func (e *encoder) append(dst []byte, r *Request) []byte {
	if e.resize {
		// First to zero, which empties the server's table, then to the new limit, RFC 7541,
		// section 4.2.
		e.resize = false
		dst = appendInt(dst, 0x20, 5, 0)
		if e.limit > 0 {
			dst = appendInt(dst, 0x20, 5, e.limit)
		}
	}
	if r.varies {
		return e.fields(dst, r)
	}
	for len(e.blocks) <= r.index {
		e.blocks = append(e.blocks, block{})
	}
	b := &e.blocks[r.index]
	if b.changes == e.changes {
		return append(dst, b.bytes...)
	}
	from, changes := len(dst), e.changes
	dst = e.fields(dst, r)
	if changes == e.changes {
		b.bytes, b.changes = append(b.bytes[:0], dst[from:]...), changes
	}
	return dst
}

func (e *encoder) fields(dst []byte, r *Request) []byte {
	for i := range r.fields {
		dst = e.field(dst, &r.fields[i])
	}
	return dst
}

func (e *encoder) field(dst []byte, f *field) []byte {
	switch {
	case f.never:
		dst = e.name(dst, f, 0x10, 4)
	case f.vary:
		dst = e.name(dst, f, 0x00, 4)
	case f.full != 0:
		return appendInt(dst, 0x80, 7, f.full)
	default:
		if at := e.find(f); at >= 0 {
			return appendInt(dst, 0x80, 7, firstDynamic+len(e.table)-1-at)
		}
		if e.size+f.size() > e.limit {
			dst = e.name(dst, f, 0x00, 4)
			break
		}
		dst = append(e.name(dst, f, 0x40, 6), f.valueText...)
		e.table = append(e.table, f)
		e.size += f.size()
		e.changes++
		return dst
	}
	if f.vary {
		return appendText(dst, f.value)
	}
	return append(dst, f.valueText...)
}

// name begins a literal field.
func (e *encoder) name(dst []byte, f *field, first byte, bits uint) []byte {
	if f.same != 0 {
		return appendInt(dst, first, bits, f.same)
	}
	return append(append(dst, first), f.nameText...)
}

// find returns the index of a field in the table, or -1.
func (e *encoder) find(f *field) int {
	for i, g := range e.table {
		if g == f {
			return i
		}
	}
	for i, g := range e.table {
		if bytes.Equal(g.value, f.value) && bytes.Equal(g.name, f.name) {
			return i
		}
	}
	return -1
}
