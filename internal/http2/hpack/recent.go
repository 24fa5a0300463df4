package hpack

import "math/bits"

const (
	sets = 32 // a power of two
	ways = 4
)

// A recent finds lines in the table of an encoder, and remembers lines that are not in it. It
// is a cache of hashes with a few places for each, and small enough to be part of every
// connection. What it forgets is sent again; what it mistakes for a line of the table is
// compared with it.
type recent [sets]places

// places hold lines that were encoded and whose hashes are alike.
type places struct {
	tags    uint64       // 16 bits of the hash for every place, the first one lowest; 0 is an empty place
	serials [ways]uint16 // low bits of the numbers of the lines in the table
}

// What is known of a line.
const (
	inTable = iota // it is in the table
	seen           // it was encoded not long ago, and is not in the table
	unseen         // it was not, and is remembered from now on
	crowded        // it was not, and there is no place to remember it
)

const (
	// notInTable is the difference of the serial of a line that was seen but not added and
	// the serial of the table. No table has that many lines.
	notInTable = 1 << 15
	everyTag   = 0x0001000100010001 // times a tag is this tag in every place
)

// find looks for a line with a hash and the same static index, name, and value. The name matters
// only if index is 0. If the line is in the table, back says how many lines were added after
// it; otherwise the caller may add it to the table, and must then set the serial of its place.
func (r *recent) find(t *table, h uint64, index uint8, name, value string) (place *uint16, back uint32, was int) {
	set := &r[h%sets]
	tag := h>>48 | 1
	other := set.tags ^ tag*everyTag
	if equal := (other - everyTag) &^ other & (everyTag << 15); equal != 0 {
		place = &set.serials[bits.TrailingZeros64(equal)/16] // the lowest one is not caused by a carry
		back = t.back(*place)
		if back < t.count {
			if l := t.line(back); l.index == index && t.same(l, name, value) {
				return place, back, inTable
			}
		}
		return place, 0, seen
	}
	return set.note(t, tag, uint(h>>8))
}

// note remembers a tag if there is a place for it: one that is empty, or whose line is not in
// the table. It begins to look at any of them, so that it is not always the first that is lost.
func (p *places) note(t *table, tag uint64, any uint) (place *uint16, back uint32, was int) {
	free := -1
	for i := range uint(ways) {
		k := int((any + i) % ways)
		if p.tags>>(16*k)&0xffff == 0 {
			free = k
			break
		}
		if free < 0 && t.back(p.serials[k]) >= t.count {
			free = k
		}
	}
	if free < 0 {
		return nil, 0, crowded
	}
	p.tags = p.tags&^(0xffff<<(16*free)) | tag<<(16*free)
	p.serials[free] = uint16(t.serial) - notInTable
	return &p.serials[free], 0, unseen
}

// back returns how many lines were added after the one with a serial. If the line is not in
// the table, that is at least as many as the table has.
func (t *table) back(serial uint16) uint32 { return uint32(uint16(t.serial) - serial - 1) }

// hash hashes a string. It is not made to resist somebody who looks for collisions: those
// cost compression, and nothing else.
func hash(s string, seed uint64) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := seed ^ uint64(len(s))*k0
	for len(s) > 16 {
		h = mix(load64(s, 0)^k0^h, load64(s, 8)^k1)
		s = s[16:]
	}
	var a, b uint64
	switch n := len(s); {
	case n >= 8:
		a, b = load64(s, 0), load64(s, n-8)
	case n >= 4:
		a, b = uint64(load32(s, 0)), uint64(load32(s, n-4))
	case n > 0:
		a = uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	return mix(a^k0^h, b^k1)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// load64 returns the eight bytes of s at i. The compiler makes one load of it.
func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// load32 returns the four bytes of s at i.
func load32(s string, i int) uint32 {
	s = s[i : i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}
