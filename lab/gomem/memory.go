package gomem

import (
	"encoding/binary"
	"slices"
)

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

// maxGap is how many bytes that are not wanted are read so that two regions become one. A
// region costs the kernel about a microsecond.
const maxGap = 512

// add appends a region and returns where its bytes will be in buf.
func (b *batch) add(addr uint64, size int) int {
	at := len(b.buf)
	if n := len(b.regions); n > 0 {
		last := &b.regions[n-1]
		end := last.addr + uint64(last.size)
		if addr >= last.addr && end >= last.addr && addr < end+maxGap {
			at += int(addr-last.addr) - last.size
			more := max(at+size-len(b.buf), 0)
			last.size += more
			b.grow(more)
			return at
		}
	}
	b.regions = append(b.regions, region{addr, size})
	b.grow(size)
	return at
}

func (b *batch) grow(size int) {
	b.buf = slices.Grow(b.buf, size)[:len(b.buf)+size]
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
