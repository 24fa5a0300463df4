package ring

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants of <linux/io_uring.h>.
const (
	opPollAdd = 6
	opCancel  = 14
	opSend    = 26
	opRecv    = 27

	setupCQSize       = 1 << 3
	setupClamp        = 1 << 4
	setupSubmitAll    = 1 << 7
	setupTaskrunFlag  = 1 << 9
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13
	featSingleMmap    = 1 << 0

	selectBuffer  = 1 << 5 // in sqe.flags
	skipSuccess   = 1 << 6 // in sqe.flags
	recvMultishot = 1 << 1 // in sqe.ioprio

	hasBuffer = 1 << 0 // in cqe.flags: the upper half is the number of the buffer
	more      = 1 << 1 // in cqe.flags: the request continues

	flagOverflow = 1 << 1 // in the flags of SQ: there are completions that did not fit into CQ
	flagTaskrun  = 1 << 2 // in the flags of SQ: an enter would produce completions

	enterGetEvents = 1 << 0
	enterExtArg    = 1 << 3

	registerBuffers = 22

	offSQEs = 0x10000000
)

// sqe is a request, struct io_uring_sqe.
type sqe struct {
	op, flags uint8
	ioprio    uint16
	fd        int32
	off, addr uint64
	len       uint32
	arg       [2]uint16 // msg_flags, cancel_flags, or poll_events in the first
	data      uint64
	group     uint16
	_         [22]byte
}

// setArg sets a field of 32 bits.
func (e *sqe) setArg(v uint32) { *(*uint32)(unsafe.Pointer(&e.arg)) = v }

// cqe is a completion, struct io_uring_cqe.
type cqe struct {
	data  uint64
	res   int32
	flags uint32
}

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, threadCPU, threadIdle, features, wqFD uint32
	_                                                                  [3]uint32
	sq                                                                 struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// queue is an io_uring instance: its two queues in memory shared with the kernel.
type queue struct {
	fd              int
	rings, requests []byte // mappings
	sqHead, sqTail  *atomic.Uint32
	sqFlags         *atomic.Uint32
	cqHead, cqTail  *atomic.Uint32
	sqes            []sqe
	cqes            []cqe
	tail            uint32 // of SQ, while it is filled
	head            uint32 // of CQ, while it is emptied
	looked          uint32 // position in CQ up to which failed sends were processed
	patience        patience
}

// patience is struct io_uring_getevents_arg with the timespec that it points to. It must
// not be on a stack, which moves.
type patience struct {
	mask       uint64
	size, _    uint32
	ts         uint64
	sec, nanos int64 // struct __kernel_timespec
}

// open creates the instance. It returns errors of system calls.
func (q *queue) open(entries, completions uint32) error {
	p := params{cqEntries: completions}
	p.flags = setupCQSize | setupClamp | setupSubmitAll | setupTaskrunFlag | setupSingleIssuer | setupDeferTaskrun
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return errno
	}
	q.fd = int(fd)
	if err := q.mapQueues(&p); err != nil {
		q.close()
		return err
	}
	return nil
}

func (q *queue) mapQueues(p *params) (err error) {
	if p.features&featSingleMmap == 0 {
		return unix.EINVAL // older than all other required features
	}
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	size := max(p.sq.array+4*p.sqEntries, p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(cqe{})))
	if q.rings, err = unix.Mmap(q.fd, 0, int(size), prot, flags); err != nil {
		return err
	}
	if q.requests, err = unix.Mmap(q.fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})), prot, flags); err != nil {
		return err
	}
	at := func(offset uint32) unsafe.Pointer { return unsafe.Pointer(&q.rings[offset]) }
	q.sqHead, q.sqTail, q.sqFlags = (*atomic.Uint32)(at(p.sq.head)), (*atomic.Uint32)(at(p.sq.tail)), (*atomic.Uint32)(at(p.sq.flags))
	q.cqHead, q.cqTail = (*atomic.Uint32)(at(p.cq.head)), (*atomic.Uint32)(at(p.cq.tail))
	q.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&q.requests[0])), p.sqEntries)
	q.cqes = unsafe.Slice((*cqe)(at(p.cq.cqes)), p.cqEntries)
	// Entry i of the index is always request i.
	for i, index := 0, unsafe.Slice((*uint32)(at(p.sq.array)), p.sqEntries); i < len(index); i++ {
		index[i] = uint32(i)
	}
	return nil
}

// next returns the next request to fill, zeroed; there must be room for it. The next enter
// submits it.
func (q *queue) next() *sqe {
	e := &q.sqes[q.tail&uint32(len(q.sqes)-1)]
	q.tail++
	*e = sqe{}
	return e
}

// free returns how many more requests there is room for.
func (q *queue) free() int { return len(q.sqes) - int(q.tail-q.sqHead.Load()) }

// room returns how many more completions there is room for.
func (q *queue) room() int { return len(q.cqes) - int(q.cqTail.Load()-q.head) }

// ready reports whether there are completions.
func (q *queue) ready() bool { return q.head != q.cqTail.Load() }

// flagged reports whether an enter would produce completions, and overflown whether
// completions did not fit into CQ.
func (q *queue) flagged() bool   { return q.sqFlags.Load()&(flagTaskrun|flagOverflow) != 0 }
func (q *queue) overflown() bool { return q.sqFlags.Load()&flagOverflow != 0 }

// pop removes the next completion.
func (q *queue) pop() (e cqe, ok bool) {
	if !q.ready() {
		return e, false
	}
	e = q.cqes[q.head&uint32(len(q.cqes)-1)]
	q.head++
	q.cqHead.Store(q.head)
	return e, true
}

// fresh calls f for the completions since the last call, without removing them. f may
// change them.
func (q *queue) fresh(f func(e *cqe)) {
	tail := q.cqTail.Load()
	for ; q.looked != tail; q.looked++ {
		f(&q.cqes[q.looked&uint32(len(q.cqes)-1)])
	}
}

// submit submits all requests to the kernel and, with enterGetEvents, fetches completions
// without waiting.
func (q *queue) submit(flags uintptr) error {
	q.sqTail.Store(q.tail)
	for {
		left := q.tail - q.sqHead.Load()
		n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(q.fd), uintptr(left), 0, flags, 0, 0)
		switch {
		case errno != 0 && errno != unix.EINTR:
			return fmt.Errorf("io_uring_enter: %w", errno)
		case errno == 0 && n == 0 && left > 0:
			return fmt.Errorf("io_uring_enter: %d requests were not accepted", left)
		case q.tail == q.sqHead.Load():
			return nil
		}
	}
}

// sleep waits for a completion, for at most that many nanoseconds.
func (q *queue) sleep(ns int64) error {
	p := &q.patience
	p.sec, p.nanos = ns/1e9, ns%1e9
	p.ts = uint64(uintptr(unsafe.Pointer(&p.sec)))
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(q.fd), 0, 1, enterGetEvents|enterExtArg,
		uintptr(unsafe.Pointer(p)), unsafe.Offsetof(p.sec))
	if errno != 0 && errno != unix.ETIME && errno != unix.EINTR {
		return fmt.Errorf("io_uring_enter: %w", errno)
	}
	return nil
}

func (q *queue) register(op uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(q.fd), op, uintptr(arg), 1, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// close frees the instance. The kernel cancels requests in flight shortly after.
func (q *queue) close() {
	for _, m := range [][]byte{q.rings, q.requests} {
		if m != nil {
			_ = unix.Munmap(m) // the mapping is valid, so it cannot fail
		}
	}
	q.rings, q.requests = nil, nil
	_ = unix.Close(q.fd)
}
