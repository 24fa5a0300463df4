package hpack

import "encoding/binary"

// staticCount is the length of the static table (RFC 7541, appendix A). Indices start at 1.
const staticCount = 61

// staticLines is the static table.
var staticLines = [staticCount]struct{ name, value string }{
	{":authority", ""},
	{":method", "GET"},
	{":method", "POST"},
	{":path", "/"},
	{":path", "/index.html"},
	{":scheme", "http"},
	{":scheme", "https"},
	{":status", "200"},
	{":status", "204"},
	{":status", "206"},
	{":status", "304"},
	{":status", "400"},
	{":status", "404"},
	{":status", "500"},
	{"accept-charset", ""},
	{"accept-encoding", "gzip, deflate"},
	{"accept-language", ""},
	{"accept-ranges", ""},
	{"accept", ""},
	{"access-control-allow-origin", ""},
	{"age", ""},
	{"allow", ""},
	{"authorization", ""},
	{"cache-control", ""},
	{"content-disposition", ""},
	{"content-encoding", ""},
	{"content-language", ""},
	{"content-length", ""},
	{"content-location", ""},
	{"content-range", ""},
	{"content-type", ""},
	{"cookie", ""},
	{"date", ""},
	{"etag", ""},
	{"expect", ""},
	{"expires", ""},
	{"from", ""},
	{"host", ""},
	{"if-match", ""},
	{"if-modified-since", ""},
	{"if-none-match", ""},
	{"if-range", ""},
	{"if-unmodified-since", ""},
	{"last-modified", ""},
	{"link", ""},
	{"location", ""},
	{"max-forwards", ""},
	{"proxy-authenticate", ""},
	{"proxy-authorization", ""},
	{"range", ""},
	{"referer", ""},
	{"refresh", ""},
	{"retry-after", ""},
	{"server", ""},
	{"set-cookie", ""},
	{"strict-transport-security", ""},
	{"transfer-encoding", ""},
	{"user-agent", ""},
	{"vary", ""},
	{"via", ""},
	{"www-authenticate", ""},
}

// staticRoom is the room that one line of the static table takes in [statics]. A line is
// copied by moving all of it, which is one or two instructions.
const staticRoom = 32

// A static is one line of the static table in the form in which it is copied: the name, and
// the value right after it.
type static struct {
	text  [staticRoom]byte
	name  uint8 // length
	value uint8 // length
	first uint8 // index of the first line with this name
}

// statics has the line of each index; index 0 is empty.
var statics = func() (table [staticCount + 1]static) {
	for i, l := range staticLines {
		s := &table[i+1]
		s.name, s.value = uint8(len(l.name)), uint8(len(l.value))
		copy(s.text[copy(s.text[:], l.name):], l.value)
		if s.first = uint8(i + 1); i > 0 && staticLines[i-1].name == l.name {
			s.first = table[i].first
		}
	}
	return table
}()

// staticSlots finds a name in the static table: its hash is the slot of its first index.
// No two names of the table have the same hash.
var staticSlots = func() (slots [128]uint8) {
	for i := staticCount; i > 0; i-- {
		slots[staticHash(staticLines[i-1].name)] = statics[i].first
	}
	return slots
}()

// staticHash hashes a name of at least three bytes without regard to case.
func staticHash(name string) uint32 {
	n := len(name)
	k := uint32(n) | uint32(name[0])<<8 | uint32(name[n-1])<<16 | uint32(name[n/2])<<24
	return ((k | 0x20202000) * 0xaa1c89db) >> 25
}

// staticName returns the first index of the static table with this name, in any case, and 0
// if there is none.
func staticName(name string) uint8 {
	if len(name) < 3 {
		return 0
	}
	i := staticSlots[staticHash(name)]
	if i == 0 || int(statics[i].name) != len(name) || !sameFold(name, &statics[i].text) {
		return 0
	}
	return i
}

// staticExact returns the first index of the static table with exactly this name, and 0 if
// there is none.
func staticExact(name string) uint8 {
	i := staticName(name)
	if string(statics[i].text[:statics[i].name]) != name {
		return 0
	}
	return i
}

// staticMatch returns the index of the line with this name and value, and 0 if there is none.
// first is the first index with this name.
func staticMatch(first uint8, value string) uint8 {
	for i := first; i <= lastValue && statics[i].first == first; i++ {
		if s := &statics[i]; s.value != 0 && string(s.text[s.name:s.name+s.value]) == value {
			return i
		}
	}
	return 0
}

// sameFold reports whether the name is the lower-case one that text begins with. Both are of
// the same length, from 3 to 32 bytes. Only letters, '-' and ':' are in text, so setting the
// bit that makes a letter lower-case decides for every name that is a token (RFC 9110, 5.6.2).
func sameFold(name string, text *[staticRoom]byte) bool {
	n := len(name)
	if n < 8 {
		for i := range n {
			if name[i]|0x20 != text[i] {
				return false
			}
		}
		return true
	}
	for i := 0; i+8 < n; i += 8 {
		if load64(name, i)|0x2020202020202020 != binary.LittleEndian.Uint64(text[i:]) {
			return false
		}
	}
	return load64(name, n-8)|0x2020202020202020 == binary.LittleEndian.Uint64(text[n-8:])
}

// appendLower appends a name in lower case.
func appendLower(b []byte, name string) []byte {
	for len(name) >= 8 {
		b = binary.LittleEndian.AppendUint64(b, lower64(load64(name, 0)))
		name = name[8:]
	}
	for i := range len(name) {
		c := name[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		b = append(b, c)
	}
	return b
}

// lower64 changes the letters A to Z among eight bytes to lower case.
func lower64(w uint64) uint64 {
	const ones = 0x0101010101010101
	low := w & (0x7f * ones)                      // no carry from byte to byte
	from := low + (0x80-'A')*ones                 // bit 7 is set from 'A'
	after := low + (0x80-'Z'-1)*ones              // bit 7 is set after 'Z'
	letters := from &^ after &^ w & (0x80 * ones) // bytes from 0x80 are no letters
	return w | letters>>2
}
