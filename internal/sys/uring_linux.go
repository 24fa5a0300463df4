package sys

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The constants of io_uring(7) that are used here, as in <linux/io_uring.h>.
const (
	OpNop     = 0
	OpPollAdd = 6
	OpAccept  = 13
	OpCancel  = 14
	OpSend    = 26
	OpRecv    = 27

	RingCQSize      = 1 << 3 // IORING_SETUP_CQSIZE
	RingClamp       = 1 << 4 // IORING_SETUP_CLAMP
	RingSubmitAll   = 1 << 7 // IORING_SETUP_SUBMIT_ALL, Linux 5.18
	RingCoopTaskrun = 1 << 8 // IORING_SETUP_COOP_TASKRUN, Linux 5.19
	RingTaskrunFlag = 1 << 9 // IORING_SETUP_TASKRUN_FLAG, Linux 5.19
	featSingleMmap  = 1 << 0 // IORING_FEAT_SINGLE_MMAP
	featNoDrop      = 1 << 1 // IORING_FEAT_NODROP

	SQESelectBuffer = 1 << 5 // IOSQE_BUFFER_SELECT
	SQESkipSuccess  = 1 << 6 // IOSQE_CQE_SKIP_SUCCESS

	AcceptMultishot = 1 << 0 // IORING_ACCEPT_MULTISHOT, in Ioprio
	RecvMultishot   = 1 << 1 // IORING_RECV_MULTISHOT, in Ioprio
	// SendAll makes a send complete at once, with what the socket accepts, and fail if this
	// is not everything (MSG_DONTWAIT, MSG_WAITALL). In Arg.
	SendAll = unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT | unix.MSG_WAITALL

	CancelAll = 1 << 0 // IORING_ASYNC_CANCEL_ALL
	CancelAny = 1 << 2 // IORING_ASYNC_CANCEL_ANY

	AcceptFlags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

	CQEBuffer = 1 << 0 // IORING_CQE_F_BUFFER: the upper half of the flags is a buffer's number
	CQEMore   = 1 << 1 // IORING_CQE_F_MORE: the request continues

	sqOverflow = 1 << 1 // IORING_SQ_CQ_OVERFLOW
	sqTaskrun  = 1 << 2 // IORING_SQ_TASKRUN

	enterGetEvents = 1 << 0 // IORING_ENTER_GETEVENTS

	registerProbe = 8  // IORING_REGISTER_PROBE
	registerPbuf  = 22 // IORING_REGISTER_PBUF_RING
	withdrawPbuf  = 23 // IORING_UNREGISTER_PBUF_RING

	offSQEs = 0x10000000 // IORING_OFF_SQES
)

// An SQE is a request to the kernel, struct io_uring_sqe.
type SQE struct {
	Op     uint8
	Flags  uint8
	Ioprio uint16
	FD     int32
	Off    uint64
	Addr   uint64
	Len    uint32
	Arg    uint32 // poll32_events, msg_flags, accept_flags, cancel_flags
	Data   uint64
	Group  uint16 // of provided buffers
	_      uint16
	Limit  uint32 // optlen: total bytes that a multishot recv accepts, Linux 6.17; 0 is no limit
	_      [2]uint64
}

// A CQE is a completion, struct io_uring_cqe.
type CQE struct {
	Data  uint64
	Res   int32
	Flags uint32
}

// ringParams is struct io_uring_params.
type ringParams struct {
	sqEntries, cqEntries, flags, threadCPU, threadIdle, features, wqFD uint32
	_                                                                  [3]uint32
	sq                                                                 sqOffsets
	cq                                                                 cqOffsets
}

type sqOffsets struct {
	head, tail, mask, entries, flags, dropped, array uint32
	_                                                uint32
	_                                                uint64
}

type cqOffsets struct {
	head, tail, mask, entries, overflow, cqes, flags uint32
	_                                                uint32
	_                                                uint64
}

// A Ring is an io_uring instance: two queues in memory that is shared with the
// kernel.
//
//	SQ   ours ─▶ tail … head ─▶ kernel       64 bytes a request, and 4 of index
//	CQ   kernel ─▶ tail … head ─▶ ours       16 bytes a completion
//
// It has one user at a time, which may be any thread.
type Ring struct {
	FD int

	rings, requests []byte // mappings
	sqHead, sqTail  *atomic.Uint32
	sqFlags         *atomic.Uint32
	cqHead, cqTail  *atomic.Uint32
	sqes            []SQE
	cqes            []CQE
	sqMask, cqMask  uint32
	tail            uint32 // of SQ, as filled by us
	head            uint32 // of CQ, as emptied by us
}

// NewRing creates a ring for entries requests and completions completions, both powers of
// two. Its descriptor is non-blocking, so that the runtime's poller can wait for it.
func NewRing(entries, completions, flags uint32) (*Ring, error) {
	p := ringParams{flags: flags | RingCQSize | RingClamp, cqEntries: completions}
	n, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("create ring: %w", os.NewSyscallError("io_uring_setup", errno))
	}
	r := &Ring{FD: int(n)}
	if err := r.mapQueues(&p); err != nil {
		r.Close()
		return nil, fmt.Errorf("create ring: %w", err)
	}
	return r, nil
}

func (r *Ring) mapQueues(p *ringParams) (err error) {
	if p.features&featSingleMmap == 0 || p.features&featNoDrop == 0 {
		return fmt.Errorf("map queues: features are %#x: %w", p.features, unix.EOPNOTSUPP)
	}
	if err := unix.SetNonblock(r.FD, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	size := max(int(p.sq.array+p.sqEntries*4), int(p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(CQE{}))))
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.rings, err = unix.Mmap(r.FD, 0, size, prot, flags); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if r.requests, err = unix.Mmap(r.FD, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(SQE{})), prot, flags); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	word := func(off uint32) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&r.rings[off])) }
	r.sqHead, r.sqTail, r.sqFlags = word(p.sq.head), word(p.sq.tail), word(p.sq.flags)
	r.cqHead, r.cqTail = word(p.cq.head), word(p.cq.tail)
	r.sqMask, r.cqMask = p.sqEntries-1, p.cqEntries-1
	r.sqes = unsafe.Slice((*SQE)(unsafe.Pointer(&r.requests[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*CQE)(unsafe.Pointer(&r.rings[p.cq.cqes])), p.cqEntries)
	// Requests stay in order: entry i of the index is always request i.
	index := unsafe.Slice((*uint32)(unsafe.Pointer(&r.rings[p.sq.array])), p.sqEntries)
	for i := range index {
		index[i] = uint32(i)
	}
	return nil
}

// Push queues a request, and reports whether there was room for it. What its Addr points to
// must not move until the request is complete.
func (r *Ring) Push(e *SQE) bool {
	if r.tail-r.sqHead.Load() > r.sqMask {
		return false
	}
	r.sqes[r.tail&r.sqMask] = *e
	r.tail++
	r.sqTail.Store(r.tail)
	return true
}

// Queued is the number of requests that the kernel has not accepted.
func (r *Ring) Queued() int { return int(r.tail - r.sqHead.Load()) }

// Pop removes the next completion before it returns it: if the caller does not handle it,
// it is lost.
func (r *Ring) Pop() (e CQE, ok bool) {
	if r.head == r.cqTail.Load() {
		return e, false
	}
	e = r.cqes[r.head&r.cqMask]
	r.head++
	r.cqHead.Store(r.head)
	return e, true
}

// Each calls f for all completions that Pop would return, without removing them. f may
// change them.
func (r *Ring) Each(f func(e *CQE)) {
	for i, end := r.head, r.cqTail.Load(); i != end; i++ {
		f(&r.cqes[i&r.cqMask])
	}
}

// Ready reports whether there are completions.
func (r *Ring) Ready() bool { return r.head != r.cqTail.Load() }

// Pending reports whether the kernel has completions that it adds to the queue only on
// request, with Enter: work for this thread, or completions for which the queue had no
// room.
func (r *Ring) Pending() bool { return r.sqFlags.Load()&(sqTaskrun|sqOverflow) != 0 }

// Overflown reports whether the queue had no room for some completions.
func (r *Ring) Overflown() bool { return r.sqFlags.Load()&sqOverflow != 0 }

// Enter submits the queued requests and collects completions, without waiting.
func (r *Ring) Enter() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.FD), uintptr(r.Queued()), 0, enterGetEvents, 0, 0)
	return errno
}

// Collect collects completions for which the queue had no room. Unlike Enter it submits nothing, so
// that requests which the kernel has no memory for do not keep it from that.
func (r *Ring) Collect() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.FD), 0, 0, enterGetEvents, 0, 0)
	return errno
}

// Unsubmitted calls f for the requests that the kernel has not accepted. f may change them.
func (r *Ring) Unsubmitted(f func(e *SQE)) {
	for i := r.sqHead.Load(); i != r.tail; i++ {
		f(&r.sqes[i&r.sqMask])
	}
}

// PollArg is the Arg of a request OpPollAdd for some events.
func PollArg(events uint32) uint32 {
	if !littleEndian {
		return events<<16 | events>>16 // because the older form of the field had 16 bits
	}
	return events
}

var littleEndian = *(*byte)(unsafe.Pointer(&[]uint16{1}[0])) == 1

// probeOps is the number of operations that a probe covers.
const probeOps = 64

// Supports reports which of some operations the kernel lacks.
func (r *Ring) Supports(ops ...uint8) (missing []uint8, err error) {
	var p struct {
		last, n uint8
		_       uint16
		_       [3]uint32
		ops     [probeOps]struct {
			op, _ uint8
			flags uint16
			_     uint32
		}
	}
	if err := r.register("probe", registerProbe, unsafe.Pointer(&p), probeOps); err != nil {
		return nil, err
	}
	for _, op := range ops {
		if op > p.last || p.ops[op].flags&1 == 0 {
			missing = append(missing, op)
		}
	}
	return missing, nil
}

func (r *Ring) register(what string, op uintptr, arg unsafe.Pointer, n uintptr) error {
	_, _, errno := syscall.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.FD), op, uintptr(arg), n, 0, 0)
	if errno != 0 {
		return fmt.Errorf("register %s: %w", what, os.NewSyscallError("io_uring_register", errno))
	}
	return nil
}

// Unmap frees the queues' memory. The kernel keeps its own reference to it.
func (r *Ring) Unmap() {
	for _, m := range [][]byte{r.rings, r.requests} {
		if m != nil {
			_ = unix.Munmap(m) // it was mapped: this cannot fail
		}
	}
	r.rings, r.requests = nil, nil
}

// Close closes the ring. The kernel soon cancels requests in flight.
func (r *Ring) Close() {
	r.Unmap()
	Close(r.FD)
}
