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
type recent [sets][ways]sighting

// A sighting is a line that was encoded.
type sighting struct {
	tag    uint16 // part of the hash; 0 is an empty place
	serial uint16 // low bits of the number of the line in the table
}

// What is known of a line.
const (
	inTable = iota // it is in the table
	seen           // it was encoded not long ago, and is not in the table
	unseen         // it was not, and is remembered from now on
	crowded        // it was not, and there is no place to remember it
)

// notInTable is the difference of the serial of a line that was seen but not added and the
// serial of the table. No table has that many lines.
const notInTable = 1 << 15

// find looks for a line with a hash and the same static index, name, and value. The name matters
// only if index is 0. If the line is in the table, back says how many lines were added after
// it; otherwise the caller may add it to the table, and must then set the sighting's serial.
func (r *recent) find(t *table, h uint64, index uint8, name, value string) (s *sighting, back uint32, was int) {
	set := &r[h%sets]
	tag := uint16(h>>48) | 1
	var free *sighting
	for i := range uint64(ways) {
		s := &set[(h>>8+i)%ways] // any place to begin with, so that it is not always the first that is lost
		back := uint32(uint16(t.serial) - s.serial - 1)
		in := back < t.count
		if s.tag != tag {
			if s.tag == 0 || !in && free == nil {
				free = s
			}
			continue
		}
		if in {
			if l := t.line(back); l.index == index && t.same(l, name, value) {
				return s, back, inTable
			}
		}
		return s, 0, seen
	}
	if free == nil {
		return nil, 0, crowded
	}
	*free = sighting{tag: tag, serial: uint16(t.serial) - notInTable}
	return free, 0, unseen
}

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
