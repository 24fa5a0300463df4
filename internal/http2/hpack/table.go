package hpack

// lineOverhead is what a line of the dynamic table counts in addition to its bytes (RFC 7541, 4.1).
const lineOverhead = 32

// A table is a dynamic table (RFC 7541, 2.3.2). Names and values are in a ring of bytes, which
// is as large as the lines have needed so far:
//
//	bytes    ...value|name value|name value|name value|          |name ...
//	          ^ wraps  oldest line             newest   ^ next
//
// Positions in both rings only ever increase; the low bits are the place in the ring.
type table struct {
	bytes  []byte // len is 0 or a power of two
	lines  []line // len is 0 or a power of two
	next   uint32 // position after the newest line's bytes
	used   uint32 // bytes in the ring
	serial uint32 // lines that were ever added
	count  uint32 // lines in the table
	size   uint32 // as RFC 7541, 4.1
	max    uint32 // what size may be
}

// A line is one field line of a dynamic table.
type line struct {
	at    uint32 // position of the name in the ring of bytes; the value follows it
	name  uint32 // length
	value uint32 // length
	index uint8  // first index of the static table with this name, or 0
}

// line returns the line that was added back lines before the newest one. back is less than count.
func (t *table) line(back uint32) *line {
	return &t.lines[(t.serial-1-back)&uint32(len(t.lines)-1)]
}

// appendTo appends the name and the value of a line.
func (t *table) appendTo(text []byte, l *line) []byte {
	return t.appendBytes(text, l.at, l.name+l.value)
}

// appendBytes appends n bytes of the ring, from a position.
func (t *table) appendBytes(text []byte, at, n uint32) []byte {
	from := at & uint32(len(t.bytes)-1)
	if end := from + n; end <= uint32(len(t.bytes)) {
		return append(text, t.bytes[from:end]...)
	}
	text = append(text, t.bytes[from:]...)
	return append(text, t.bytes[:n-uint32(len(t.bytes))+from]...)
}

// holds reports whether the bytes of the ring from a position are s.
func (t *table) holds(at uint32, s string) bool {
	from := at & uint32(len(t.bytes)-1)
	if end := from + uint32(len(s)); end <= uint32(len(t.bytes)) {
		return string(t.bytes[from:end]) == s
	}
	first := uint32(len(t.bytes)) - from
	return string(t.bytes[from:]) == s[:first] && string(t.bytes[:uint32(len(s))-first]) == s[first:]
}

// same reports whether a line has this value and, unless its name is in the static table, this
// name.
func (t *table) same(l *line, name, value string) bool {
	if int(l.value) != len(value) || !t.holds(l.at+l.name, value) {
		return false
	}
	return l.index != 0 || int(l.name) == len(name) && t.holds(l.at, name)
}

// resize changes the maximum size (RFC 7541, 4.3).
func (t *table) resize(limit uint32) {
	t.max = limit
	t.evict(limit)
}

// evict removes the oldest lines until the size is at most limit.
func (t *table) evict(limit uint32) {
	for t.size > limit {
		l := t.line(t.count - 1)
		t.used -= l.name + l.value
		t.size -= l.name + l.value + lineOverhead
		t.count--
	}
}

// add adds a line (RFC 7541, 4.4). One that is larger than the table empties it. Neither name
// nor value may be memory of the table.
func (t *table) add(index uint8, name, value string) {
	n := uint32(len(name) + len(value))
	if n+lineOverhead > t.max {
		t.evict(0)
		return
	}
	t.evict(t.max - n - lineOverhead)
	if t.used+n > uint32(len(t.bytes)) {
		t.growBytes(t.used + n)
	}
	if t.count == uint32(len(t.lines)) {
		t.growLines()
	}
	t.lines[t.serial&uint32(len(t.lines)-1)] = line{at: t.next, name: uint32(len(name)), value: uint32(len(value)), index: index}
	t.serial++
	t.count++
	t.size += n + lineOverhead
	t.used += n
	t.put(name)
	t.put(value)
}

// put copies s to the end of the ring, which has room for it.
func (t *table) put(s string) {
	from := t.next & uint32(len(t.bytes)-1)
	t.next += uint32(len(s))
	if n := copy(t.bytes[from:], s); n < len(s) {
		copy(t.bytes, s[n:])
	}
}

// growBytes makes the ring of bytes at least n long.
func (t *table) growBytes(n uint32) {
	length := uint32(256)
	for length < n {
		length *= 2
	}
	text := make([]byte, 0, length)
	text = t.appendBytes(text, t.next-t.used, t.used)
	at := uint32(0)
	for back := t.count; back > 0; back-- {
		l := t.line(back - 1)
		l.at = at
		at += l.name + l.value
	}
	t.bytes, t.next = text[:length], at
}

// growLines doubles the ring of lines.
func (t *table) growLines() {
	lines := make([]line, max(8, 2*len(t.lines)))
	for back := range t.count {
		lines[(t.serial-1-back)&uint32(len(lines)-1)] = *t.line(back)
	}
	t.lines = lines
}
