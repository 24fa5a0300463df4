package gomem

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// memory reads the address space that the process had when it was opened. The descriptor of
// /proc/PID/mem belongs to that address space: it outlives neither the process nor an exec, so
// that a number that the kernel gave to another process is noticed.
type memory struct {
	pid    int
	file   *os.File
	probe  uint64 // an address that is mapped as long as the address space exists
	direct bool   // process_vm_readv works: many regions in one call
	remote []unix.RemoteIovec
}

// maxRegions is how many regions one system call reads (UIO_MAXIOV).
const maxRegions = 1024

// openMemory opens the address space of a process for reading.
func openMemory(pid int) (*memory, error) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "mem"))
	if err != nil {
		return nil, access(pid, err)
	}
	return &memory{pid: pid, file: f, direct: true}, nil
}

// access says what to do about an error of a file in /proc/PID.
func access(pid int, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("process %d: %w", pid, ErrPermission)
	}
	return fmt.Errorf("process %d: %w", pid, err)
}

func (m *memory) close() error { return m.file.Close() }

// read fills a batch. It returns [ErrGone] if the address space no longer exists, also if it
// went while it was being read.
func (m *memory) read(b *batch) error {
	if len(b.buf) > maxBatch {
		return tooLarge("memory to read", uint64(len(b.buf)), maxBatch)
	}
	if m.direct {
		if err := m.vector(b); err == nil {
			return m.alive()
		}
		// Some sandboxes forbid the call, and a hole in the memory ends it early. The slow way
		// tells the reasons apart.
	}
	at := 0
	for _, r := range b.regions {
		if err := m.one(b.buf[at:at+r.size], r.addr); err != nil {
			return err
		}
		at += r.size
	}
	return nil
}

// vector reads with process_vm_readv.
func (m *memory) vector(b *batch) error {
	at := 0
	for rest := b.regions; len(rest) > 0; {
		part := rest[:min(len(rest), maxRegions)]
		rest = rest[len(part):]
		m.remote = m.remote[:0]
		size := 0
		for _, r := range part {
			m.remote = append(m.remote, unix.RemoteIovec{Base: uintptr(r.addr), Len: r.size})
			size += r.size
		}
		if size == 0 {
			continue
		}
		local := [1]unix.Iovec{{Base: &b.buf[at]}}
		local[0].SetLen(size)
		n, err := unix.ProcessVMReadv(m.pid, local[:], m.remote, 0)
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			m.direct = false
		}
		if err != nil {
			return err
		}
		if n != size {
			return errAddress
		}
		at += size
	}
	return nil
}

// one reads a region through the descriptor.
func (m *memory) one(p []byte, addr uint64) error {
	if int64(addr) < 0 {
		return fmt.Errorf("read %#x: %w", addr, errAddress)
	}
	n, err := m.file.ReadAt(p, int64(addr))
	switch {
	case n == len(p):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("process %d: %w", m.pid, ErrGone)
	case errors.Is(err, unix.EIO), errors.Is(err, unix.EFAULT):
		if err := m.alive(); err != nil {
			return err
		}
		return fmt.Errorf("read %#x: %w", addr, errAddress)
	}
	return access(m.pid, err)
}

// alive reports whether the address space still exists.
func (m *memory) alive() error {
	if m.probe == 0 {
		return nil
	}
	var p [1]byte
	if n, err := m.file.ReadAt(p[:], int64(m.probe)); n == 1 {
		return nil
	} else if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, unix.EIO) {
		return access(m.pid, err)
	}
	return fmt.Errorf("process %d: %w", m.pid, ErrGone)
}

// monotonic returns the time that the runtime counts in, in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // no time of the process is before it: all are unknown
	}
	return t.Nano()
}
