package hpack

import "unsafe"

const (
	// encoderTable is the largest dynamic table that an encoder uses, whatever the peer allows.
	encoderTable = 4096
	// shortCookie is how long a cookie must be to be indexed. A shorter one could be guessed
	// by somebody who can try values and see how long the block becomes (RFC 7541, 7.1.3).
	shortCookie = 20
	// statusName is the first index of :status.
	statusName = 8
	cookieName = 32
	// worthwhile is how long a value that changes has to be for its line to be looked up. A
	// Content-Length takes fewer bytes than the search is worth.
	worthwhile = 8
	// lastValue is the last index of the static table with a value.
	lastValue = 16
)

// What is done with lines whose names are in the static table, as sets of first indices.
const (
	// neverIndexed are authorization, proxy-authorization and set-cookie.
	neverIndexed uint64 = 1<<23 | 1<<49 | 1<<55
	// changing are the names whose values change from message to message: :path, age,
	// content-disposition, content-length, content-location, content-range, date, etag,
	// expires, if-match, if-modified-since, if-none-match, if-range, if-unmodified-since,
	// last-modified, link, location, range, refresh, retry-after, www-authenticate.
	changing uint64 = 1<<4 | 1<<21 | 1<<25 | 1<<28 | 1<<29 | 1<<30 | 1<<33 | 1<<34 | 1<<36 |
		1<<39 | 1<<40 | 1<<41 | 1<<42 | 1<<43 | 1<<44 | 1<<45 | 1<<46 | 1<<50 | 1<<52 | 1<<53 | 1<<61
)

// The forms of a literal (RFC 7541, 6.2): their first bits.
const (
	withIndexing    = 0x40 // a prefix of 6 bits follows
	withoutIndexing = 0x00 // 4 bits
	neverIndexing   = 0x10 // 4 bits
)

// An Encoder encodes the header blocks of one connection. [Encoder.Init] comes before anything
// else. Every block that was begun must be sent.
type Encoder struct {
	table  table
	recent recent
	want   uint32 // size that the table shall have
	low    uint32 // the smallest size wanted since the last block
}

// Init begins a connection. Until [Encoder.SetPeerTable] says otherwise, the peer's table has
// the 4,096 bytes of RFC 9113, 6.5.2.
func (e *Encoder) Init() {
	*e = Encoder{want: encoderTable, low: encoderTable}
	e.table.max = defaultTable
}

// SetPeerTable takes the peer's SETTINGS_HEADER_TABLE_SIZE, in bytes as RFC 7541, 4.1 counts.
// The encoder uses at most 4,096 of them. A change of its size goes out with the next block
// (4.2).
func (e *Encoder) SetPeerTable(limit uint32) {
	e.want = min(limit, encoderTable)
	e.low = min(e.low, e.want)
}

// Begin begins a block: it appends the size updates that are due.
func (e *Encoder) Begin(b []byte) []byte {
	if e.low == e.want && e.want == e.table.max {
		return b
	}
	return e.resize(b)
}

// resize appends the size updates. If two are due, the first one empties the table: the clients
// of Go refuse a second one while their table has lines.
func (e *Encoder) resize(b []byte) []byte {
	if e.low < e.want && e.low < e.table.max {
		e.low = 0
	}
	if e.low < e.table.max {
		b = appendInteger(b, 0x20, 5, e.low)
		e.table.resize(e.low)
	}
	if e.want != e.table.max {
		b = appendInteger(b, 0x20, 5, e.want)
		e.table.resize(e.want)
	}
	e.low = e.want
	return b
}

// Status appends a :status line. code has three digits.
func (e *Encoder) Status(b []byte, code int) []byte {
	switch code {
	case 200:
		return append(b, 0x88)
	case 204:
		return append(b, 0x89)
	case 206:
		return append(b, 0x8a)
	case 304:
		return append(b, 0x8b)
	case 400:
		return append(b, 0x8c)
	case 404:
		return append(b, 0x8d)
	case 500:
		return append(b, 0x8e)
	}
	digits := [3]byte{'0' + byte(code/100%10), '0' + byte(code/10%10), '0' + byte(code%10)}
	return e.known(b, statusName, ":status", unsafe.String(&digits[0], len(digits)))
}

// Bytes appends a field line like [Encoder.Field]. It does not keep value.
func (e *Encoder) Bytes(b []byte, name string, value []byte) []byte {
	return e.Field(b, name, unsafe.String(unsafe.SliceData(value), len(value)))
}

// Field appends a field line. The name is a token, or a pseudo-header, in any case; it is
// encoded in lower case (RFC 9113, 8.2.1). The value may be borrowed memory: the encoder keeps
// copies. The caller is responsible for what name and value contain.
func (e *Encoder) Field(b []byte, name, value string) []byte {
	if i := staticName(name); i != 0 {
		return e.known(b, i, name, value)
	}
	return e.unknown(b, name, value)
}

// known appends a line whose name is in the static table. i is the first index with the name.
func (e *Encoder) known(b []byte, i uint8, name, value string) []byte {
	bit := uint64(1) << i
	if neverIndexed&bit != 0 || i == cookieName && len(value) < shortCookie {
		return appendString(appendInteger(b, neverIndexing, 4, uint32(i)), value)
	}
	if i <= lastValue {
		if m := staticMatch(i, value); m != 0 {
			return append(b, 0x80|m)
		}
	}
	if (changing&bit == 0 || len(value) >= worthwhile) && e.enters(len(name)+len(value)) {
		place, back, was := e.recent.find(&e.table, hash(value, uint64(i)), i, "", value)
		if was == inTable {
			return appendInteger(b, 0x80, 7, staticCount+1+back)
		}
		if was == seen || was == unseen && changing&bit == 0 {
			*place = uint16(e.table.serial)
			e.table.add(i, staticLines[i-1].name, value)
			return appendShorter(appendInteger(b, withIndexing, 6, uint32(i)), value)
		}
	}
	return appendString(appendInteger(b, withoutIndexing, 4, uint32(i)), value)
}

// unknown appends a line whose name is not in the static table.
func (e *Encoder) unknown(b []byte, name, value string) []byte {
	start := len(b)
	b = appendInteger(append(b, withoutIndexing), 0, 7, uint32(len(name)))
	from := len(b)
	b = appendLower(b, name)
	if e.enters(len(name) + len(value)) {
		lower := unsafe.String(unsafe.SliceData(b[from:]), len(name)) // until b changes
		place, back, was := e.recent.find(&e.table, hash(value, hash(lower, 0)), 0, lower, value)
		if was == inTable {
			return appendInteger(b[:start], 0x80, 7, staticCount+1+back)
		}
		if was == seen {
			*place = uint16(e.table.serial)
			e.table.add(0, lower, value)
			b[start] = withIndexing
			return appendShorter(b, value)
		}
	}
	return appendString(b, value)
}

// enters reports whether a line whose name and value have n bytes may enter the table. One that
// would displace more than half of the others may not.
func (e *Encoder) enters(n int) bool { return uint(n)+lineOverhead <= uint(e.table.max/2) }

// appendString appends a string as it is.
func appendString(b []byte, s string) []byte {
	return append(appendInteger(b, 0, 7, uint32(len(s))), s...)
}

// appendShorter appends a string in Huffman code if that is shorter.
func appendShorter(b []byte, s string) []byte {
	n := huffmanLength(s)
	if n >= len(s) {
		return appendString(b, s)
	}
	return appendHuffman(appendInteger(b, 0x80, 7, uint32(n)), s)
}
