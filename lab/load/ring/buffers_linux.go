package ring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	bufferSize = 16 << 10 // of one provided buffer: what one completion brings at most
	// SlotSize is the longest that Send takes, in bytes.
	SlotSize = 16 << 10
	// Batch is how many sends an enter submits at most.
	Batch = 64

	minBuffers, maxBuffers = 128, 1024
)

// provided is struct io_uring_buf. The tail of the ring of them is in the reserved
// bytes of the first.
type provided struct {
	addr uint64
	len  uint32
	id   uint16
	tail uint16
}

// memory is what the kernel reads and writes, in one mapping of its own: no pointer
// to memory that Go manages leaves this package.
//
//	│ ring of provided buffers │ the buffers │ slots of sends │
type memory struct {
	whole   []byte
	ring    []provided
	buffers []byte
	slots   []byte
	tail    uint16
}

// open maps memory for n buffers, a power of two, and gives them to the kernel.
func (m *memory) open(q *queue, n int) (err error) {
	page := unix.Getpagesize()
	head := (n*int(unsafe.Sizeof(provided{})) + page - 1) &^ (page - 1)
	if m.whole, err = unix.Mmap(-1, 0, head+n*bufferSize+Batch*SlotSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return err
	}
	m.ring = unsafe.Slice((*provided)(unsafe.Pointer(&m.whole[0])), n)
	m.buffers, m.slots = m.whole[head:head+n*bufferSize], m.whole[head+n*bufferSize:]
	// struct io_uring_buf_reg, for group 0
	reg := struct {
		addr         uint64
		entries      uint32
		group, flags uint16
		_            [3]uint64
	}{addr: address(m.whole), entries: uint32(n)}
	if err := q.register(registerBuffers, unsafe.Pointer(&reg)); err != nil {
		return err
	}
	for i := range n {
		m.give(i)
	}
	return nil
}

// address is where b is, for the kernel.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// give gives a buffer back to the kernel, which looks when it is entered next.
func (m *memory) give(id int) {
	e := &m.ring[int(m.tail)&(len(m.ring)-1)]
	e.addr, e.len, e.id = address(m.buffers[id*bufferSize:]), bufferSize, uint16(id)
	m.tail++
	m.ring[0].tail = m.tail
}

// buffer is what a recv put into one.
func (m *memory) buffer(id, n int) []byte { return m.buffers[id*bufferSize:][:n:n] }

// slot is the memory of one send.
func (m *memory) slot(i int) []byte { return m.slots[i*SlotSize:][:SlotSize:SlotSize] }

// close unmaps it, when the kernel has no request left that could use it.
func (m *memory) close() {
	if m.whole != nil {
		_ = unix.Munmap(m.whole) // it was mapped: there is nothing to fail
	}
	*m = memory{}
}
