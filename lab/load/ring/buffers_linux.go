package ring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	bufferSize = 16 << 10 // of one provided buffer: the most that one completion returns
	// SlotSize is the maximum length of a Send, in bytes.
	SlotSize = 16 << 10
	// Batch is the maximum number of sends that an enter submits.
	Batch = 64

	minBuffers, maxBuffers = 128, 1024
)

// provided is struct io_uring_buf. The tail of the ring of buffers is in the reserved bytes
// of the first one.
type provided struct {
	addr uint64
	len  uint32
	id   uint16
	tail uint16
}

// memory is the memory that the kernel reads and writes, in a separate mapping: no pointer
// to memory managed by Go leaves this package.
//
//	│ ring of provided buffers │ the buffers │ slots of sends │
type memory struct {
	whole   []byte
	ring    []provided
	buffers []byte
	slots   []byte
	tail    uint16
}

// open maps memory for n buffers, a power of two, and registers them with the kernel.
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

// address returns the address of b for the kernel.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// give returns a buffer to the kernel, which takes it at the next enter.
func (m *memory) give(id int) {
	e := &m.ring[int(m.tail)&(len(m.ring)-1)]
	e.addr, e.len, e.id = address(m.buffers[id*bufferSize:]), bufferSize, uint16(id)
	m.tail++
	m.ring[0].tail = m.tail
}

// buffer returns what a recv stored in a buffer.
func (m *memory) buffer(id, n int) []byte { return m.buffers[id*bufferSize:][:n:n] }

// slot returns the memory of one send.
func (m *memory) slot(i int) []byte { return m.slots[i*SlotSize:][:SlotSize:SlotSize] }

// close unmaps the memory. The kernel must have no request left that could use it.
func (m *memory) close() {
	if m.whole != nil {
		_ = unix.Munmap(m.whole) // the mapping is valid, so it cannot fail
	}
	*m = memory{}
}
