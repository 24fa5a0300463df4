package sys

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Buffers are memory into which the kernel receives: a ring of entries that name the free
// buffers (IORING_REGISTER_PBUF_RING, Linux 5.19), and the buffers, in one mapping that is
// unknown to the garbage collector.
//
//	entries   16 bytes each; the last two of the first are the tail
//	buffers   stride bytes each; touched, and so resident, only when used
//
// The stride is a cache line more than the size, so that the first lines of all buffers do
// not compete for the same cache sets.
type Buffers struct {
	mem     []byte
	entries []bufEntry
	slab    []byte
	tailAt  *atomic.Uint32
	ring    *Ring
	group   uint16
	size    int
	stride  int
	open    int // buffers that are in use by either side
	tail    uint16
}

// bufEntry is struct io_uring_buf.
type bufEntry struct {
	addr uint64
	len  uint32
	bid  uint16
	tail uint16 // of the first entry only
}

// bufReg is struct io_uring_buf_reg.
type bufReg struct {
	addr    uint64
	entries uint32
	group   uint16
	_       uint16
	_       [3]uint64
}

const cacheLine = 64

// NewBuffers registers n buffers, a power of two, of size bytes as a group of the ring.
// None of them is given to the kernel yet: see Open.
func (r *Ring) NewBuffers(group uint16, n, size int) (*Buffers, error) {
	b := &Buffers{ring: r, group: group, size: size, stride: size + cacheLine}
	page := os.Getpagesize()
	index := (n*int(unsafe.Sizeof(bufEntry{})) + page - 1) / page * page
	var err error
	b.mem, err = unix.Mmap(-1, 0, index+n*b.stride, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map buffers: %w", os.NewSyscallError("mmap", err))
	}
	b.entries = unsafe.Slice((*bufEntry)(unsafe.Pointer(&b.mem[0])), n)
	b.slab = b.mem[index:]
	b.tailAt = (*atomic.Uint32)(unsafe.Pointer(&b.mem[unsafe.Offsetof(bufEntry{}.bid)]))
	if err := b.Offer(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Offer gives the kernel the buffers that are not in use: at first none. It may be called again
// after an error.
func (b *Buffers) Offer() error {
	reg := bufReg{addr: uint64(uintptr(unsafe.Pointer(&b.mem[0]))), entries: uint32(len(b.entries)), group: b.group}
	return b.ring.register("buffer ring", registerPbuf, unsafe.Pointer(&reg), 1)
}

// Withdraw takes all buffers from the kernel, except those that completions of the ring name
// which have not been handled: from here on it receives into none, until Offer. Both are
// called with the ring's lock not held by anybody else, as Enter is.
func (b *Buffers) Withdraw() error {
	reg := bufReg{group: b.group}
	return b.ring.register("buffer ring", withdrawPbuf, unsafe.Pointer(&reg), 1)
}

// Refill prepares the buffers to be offered again after Withdraw. used are those that completions
// name, which are recycled later. If there are none, the memory of all is returned to the system,
// and the first n are prepared.
func (b *Buffers) Refill(n int, used map[uint16]bool) {
	opened := b.open
	b.open, b.tail, b.entries[0].tail = 0, 0, 0
	if len(used) == 0 {
		opened = min(n, opened)
		// It fails if the memory is locked: then it stays.
		_ = unix.Madvise(b.mem[len(b.mem)-len(b.slab):], unix.MADV_DONTNEED)
	}
	for ; b.open < opened; b.open++ {
		if id := uint16(b.open); !used[id] {
			b.Recycle(id)
		}
	}
}

// Open gives the kernel up to n more buffers, and reports whether there were any.
func (b *Buffers) Open(n int) bool {
	n = min(n, len(b.entries)-b.open)
	for range n {
		b.Recycle(uint16(b.open))
		b.open++
	}
	return n > 0
}

// Opened is the number of buffers given so far.
func (b *Buffers) Opened() int { return b.open }

// Bytes is the first n bytes of a buffer, valid until it is recycled.
func (b *Buffers) Bytes(id uint16, n int) []byte {
	at := int(id) * b.stride
	return b.slab[at : at+n : at+n]
}

// Recycle returns a buffer to the kernel.
func (b *Buffers) Recycle(id uint16) {
	e := &b.entries[int(b.tail)&(len(b.entries)-1)]
	e.addr = uint64(uintptr(unsafe.Pointer(&b.slab[int(id)*b.stride])))
	e.len = uint32(b.size)
	e.bid = id
	b.tail++
	// The kernel reads the tail with acquire semantics. There is no atomic store of 16
	// bits; the other half of the word belongs to the first entry.
	var word [4]byte
	binary.NativeEndian.PutUint16(word[:], b.entries[0].bid)
	binary.NativeEndian.PutUint16(word[2:], b.tail)
	b.tailAt.Store(binary.NativeEndian.Uint32(word[:]))
}

// Close frees the memory. No request of the ring may be in flight.
func (b *Buffers) Close() {
	_ = unix.Munmap(b.mem) // it was mapped: this cannot fail
	b.mem, b.entries, b.slab = nil, nil, nil
}

// A Slab is memory unknown to the garbage collector, for the kernel to read from.
type Slab []byte

// NewSlab maps n bytes.
func NewSlab(n int) (Slab, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map slab: %w", os.NewSyscallError("mmap", err))
	}
	return b, nil
}

// Addr is the address of byte i, for an [SQE].
func (s Slab) Addr(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&s[i]))) }

// Close frees the memory.
func (s Slab) Close() {
	_ = unix.Munmap(s) // it was mapped: this cannot fail
}
