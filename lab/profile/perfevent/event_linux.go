package perfevent

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Event observes one task on one CPU, or all tasks of a CPU.
type Event struct {
	fd     int
	id     uint64
	config Config
}

// Bits of perf_event_attr that package unix does not name.
const (
	bitNoCallchainKernel = 1 << 21
	bitInheritThread     = 1 << 35
)

// Open opens an event that is not enabled yet. task is a thread's id, or -1 for all tasks,
// which needs a permission. The caller closes the result.
func Open(c Config, task, cpu int) (*Event, error) {
	attr := c.attr()
	if c.Path != "" {
		path, err := unix.BytePtrFromString(c.Path)
		if err != nil {
			return nil, fmt.Errorf("observe a function of %q: %w", c.Path, err)
		}
		defer runtime.KeepAlive(path)
		attr.Ext1, attr.Ext2 = uint64(uintptr(unsafe.Pointer(path))), c.Offset
	}
	fd, err := unix.PerfEventOpen(attr, task, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EINVAL) && attr.Bits&bitInheritThread != 0 {
		attr.Bits &^= bitInheritThread
		fd, err = unix.PerfEventOpen(attr, task, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("open an event of task %d on CPU %d: %w", task, cpu, os.NewSyscallError("perf_event_open", err))
	}
	e := &Event{fd: fd, config: c}
	if err := control(fd, unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&e.id))); err != nil {
		return nil, errors.Join(fmt.Errorf("read the id of an event: %w", err), e.Close())
	}
	return e, nil
}

func (c Config) attr() *unix.PerfEventAttr {
	a := &unix.PerfEventAttr{
		Type: c.Type, Config: c.Event, Sample: c.Period,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Bits:        unix.PerfBitDisabled | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitExcludeHv,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	a.Size = uint32(unsafe.Sizeof(*a))
	set := func(on bool, bits, sample uint64) {
		if on {
			a.Bits |= bits
			a.Sample_type |= sample
		}
	}
	set(c.Inherit, unix.PerfBitInherit, 0)
	set(c.Inherit && c.Threads, bitInheritThread, 0)
	set(!c.Kernel, unix.PerfBitExcludeKernel, 0)
	set(c.Stack, 0, unix.PERF_SAMPLE_CALLCHAIN)
	set(c.NoKernel, bitNoCallchainKernel, 0)
	set(c.Raw, 0, unix.PERF_SAMPLE_RAW)
	set(c.Returns, unix.PerfBitContextSwitch, 0)
	set(c.NoIdle, unix.PerfBitExcludeIdle, 0)
	set(c.Tasks, unix.PerfBitMmap|unix.PerfBitMmap2|unix.PerfBitComm|unix.PerfBitCommExec|unix.PerfBitTask, 0)
	if c.Argument {
		const first = 1 // AX and X0
		a.Sample_type |= unix.PERF_SAMPLE_REGS_USER
		a.Sample_regs_user = first
	}
	if c.Leaf > 0 && leafRegisters != 0 {
		a.Sample_type |= unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER
		a.Sample_regs_user, a.Sample_stack_user = leafRegisters, uint32(c.Leaf)&^7
	}
	return a
}

// ProbeType returns the type of events that are calls of a function of a program.
func ProbeType() (uint32, error) {
	text, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		return 0, fmt.Errorf("find the events of functions: %w", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("find the events of functions: %w", err)
	}
	return uint32(n), nil
}

func control(fd int, request, arg uintptr) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, arg)
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return os.NewSyscallError("ioctl", errno)
		}
	}
}

// ID is the number that the event's records have.
func (e *Event) ID() uint64 { return e.id }

// Config is what the event was opened with.
func (e *Event) Config() Config { return e.config }

// Filter lets only those hits of a tracepoint count whose fields match, for example
// "prev_state & 255".
func (e *Event) Filter(expression string) error {
	p, err := unix.BytePtrFromString(expression)
	if err != nil {
		return fmt.Errorf("set the filter %q: %w", expression, err)
	}
	if err := control(e.fd, unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(p))); err != nil {
		return fmt.Errorf("set the filter %q: %w", expression, err)
	}
	return nil
}

// Enable starts the event, with the tasks that have inherited it.
func (e *Event) Enable() error {
	if err := control(e.fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		return fmt.Errorf("enable an event: %w", err)
	}
	return nil
}

// Disable stops the event.
func (e *Event) Disable() error {
	if err := control(e.fd, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
		return fmt.Errorf("disable an event: %w", err)
	}
	return nil
}

// Close ends the event. A ring that it was the first of lives until it is closed itself.
func (e *Event) Close() error { return unix.Close(e.fd) }

// A Ring is memory into which the kernel writes the records of the events of a CPU.
type Ring struct {
	mem  []byte
	page *unix.PerfEventMmapPage
	data []byte
	fd   int
	copy []byte
}

// NewRing makes a ring of a number of bytes, a power of two, for an event. If less is allowed,
// it is smaller, at least eight pages.
func NewRing(e *Event, size int) (*Ring, error) {
	page := os.Getpagesize()
	for {
		mem, err := unix.Mmap(e.fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return &Ring{mem: mem, page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])), data: mem[page:], fd: e.fd}, nil
		}
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) || size <= 8*page {
			return nil, fmt.Errorf("map a ring of %d bytes (the sysctl kernel.perf_event_mlock_kb and the limit of locked memory allow how much): %w", size, err)
		}
		size /= 2
	}
}

// Add lets an event of the same CPU write into the ring.
func (r *Ring) Add(e *Event) error {
	if err := control(e.fd, unix.PERF_EVENT_IOC_SET_OUTPUT, uintptr(r.fd)); err != nil {
		return fmt.Errorf("share a ring: %w", err)
	}
	return nil
}

// Read takes all records that are in the ring, and calls visit with each. What visit is given
// is valid until the next call of Read. It returns how full the ring was, between 0 and 1.
func (r *Ring) Read(visit func(kind uint32, misc uint16, body []byte)) float64 {
	head, tail := atomic.LoadUint64(&r.page.Data_head), r.page.Data_tail
	size := uint64(len(r.data))
	n := min(head-tail, size)
	if n == 0 {
		return 0
	}
	if uint64(cap(r.copy)) < n {
		r.copy = make([]byte, n)
	}
	p := r.copy[:n]
	first := copy(p, r.data[tail%size:])
	copy(p[first:], r.data)
	atomic.StoreUint64(&r.page.Data_tail, head)
	const header = 8 // struct perf_event_header
	for len(p) >= header {
		kind := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
		misc, length := uint16(p[4])|uint16(p[5])<<8, int(p[6])|int(p[7])<<8
		if length < header || length > len(p) {
			break
		}
		visit(kind, misc, p[header:length])
		p = p[length:]
	}
	return float64(n) / float64(size)
}

// Close releases the ring's memory.
func (r *Ring) Close() error { return unix.Munmap(r.mem) }

// Now is the time of records that are written now.
func Now() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}
