package gomem

import "encoding/binary"

// A region is memory of the target.
type region struct {
	addr uint64
	size int
}

// A batch is memory of the target that is read with as few system calls as possible. Regions
// are read in the order in which they were added.
type batch struct {
	regions []region
	buf     []byte // the bytes of all regions, one after the other
}

// maxBatch bounds the bytes of one batch.
const maxBatch = 64 << 20

// add appends a region and returns where its bytes will be in buf.
func (b *batch) add(addr uint64, size int) int {
	at := 0
	if n := len(b.regions); n > 0 {
		at = len(b.buf)
	}
	b.regions = append(b.regions, region{addr, size})
	if need := at + size; need <= cap(b.buf) {
		b.buf = b.buf[:need]
	} else {
		b.buf = append(b.buf[:at], make([]byte, size)...)
	}
	return at
}

// reset removes the regions and keeps the memory.
func (b *batch) reset() {
	b.regions, b.buf = b.regions[:0], b.buf[:0]
}

// uint returns a number of 1, 2, 4 or 8 bytes.
func (b *batch) uint(at, size int) uint64 { return number(b.buf[at : at+size]) }

// number decodes little-endian bytes.
func number(p []byte) uint64 {
	switch len(p) {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	case 8:
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}
