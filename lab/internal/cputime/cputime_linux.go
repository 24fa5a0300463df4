package cputime

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// process is a process whose CPU time is read. The open stat file remains that of the
// process that it was opened for, even if its pid is reused.
type process struct {
	pid  int
	stat int  // descriptor of /proc/PID/stat
	last Time // last reading
	gone bool
}

// close frees the descriptor, which it does only once: it is also called as soon as the
// process has ended.
func (one *process) close() {
	if one.stat >= 0 {
		// A descriptor that was only read has nothing to report.
		_ = unix.Close(one.stat)
		one.stat = -1
	}
}

// Processes reads the CPU clocks of the server's processes. It is not safe for concurrent
// use.
type Processes struct {
	list []process
	buf  [1024]byte
}

// Open prepares to read the clocks of processes. The error wraps ErrGone if one of them
// does not exist. The caller must close the Processes.
func Open(pids []int) (*Processes, error) {
	p := &Processes{}
	for _, pid := range pids {
		fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			p.Close()
			if errors.Is(err, unix.ENOENT) {
				err = ErrGone
			}
			return nil, processError(pid, err)
		}
		p.list = append(p.list, process{pid: pid, stat: fd})
	}
	return p, nil
}

// Add begins to read the clocks of those of pids that are not read yet. The next Read
// includes what they have used so far, so they should have started after the last one. A
// process that no longer exists is ignored.
func (p *Processes) Add(pids []int) error {
	for _, pid := range pids {
		if slices.ContainsFunc(p.list, func(one process) bool { return one.pid == pid && !one.gone }) {
			continue
		}
		more, err := Open([]int{pid})
		switch {
		case errors.Is(err, ErrGone):
		case err != nil:
			return err
		default:
			p.list = append(p.list, more.list...)
		}
	}
	return nil
}

// Close closes the descriptors.
func (p *Processes) Close() {
	for _, one := range p.list {
		one.close()
	}
	p.list = nil
}

// Read sums the clocks of all processes. A process that has ended counts with its last
// reading.
func (p *Processes) Read() (Time, error) {
	var sum Time
	for i := range p.list {
		one := &p.list[i]
		if !one.gone {
			now, err := p.read(one)
			switch {
			case errors.Is(err, ErrGone):
				one.gone = true
				one.close()
			case err != nil:
				return sum, processError(one.pid, err)
			default:
				one.last = now
			}
		}
		sum.Total += one.last.Total
		sum.User += one.last.User
		sum.Sys += one.last.Sys
	}
	return sum, nil
}

// Gone lists the processes that had ended by the last Read.
func (p *Processes) Gone() (pids []int) {
	for _, one := range p.list {
		if one.gone {
			pids = append(pids, one.pid)
		}
	}
	return pids
}

// Left returns an error that wraps ErrGone if no process was left at the last Read,
// although there had been some.
func (p *Processes) Left() error {
	if gone := p.Gone(); len(gone) > 0 && len(gone) == len(p.list) {
		return processError(gone[0], ErrGone)
	}
	return nil
}

// read reads the clocks of one process.
func (p *Processes) read(one *process) (t Time, err error) {
	if t.User, t.Sys, err = p.readStat(one.stat); err != nil {
		return t, err
	}
	// The clock of the whole process: CPUCLOCK_SCHED of its id, see
	// linux/posix-timers_types.h.
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^one.pid<<3|2), &ts); err != nil {
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
			err = ErrGone
		}
		return t, err
	}
	t.Total = ts.Nano()
	return t, nil
}

// readStat reads fields 14 and 15 of proc(5), utime and stime.
func (p *Processes) readStat(fd int) (user, sys int64, err error) {
	n, err := unix.Pread(fd, p.buf[:], 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, 0, ErrGone
	}
	if err != nil {
		return 0, 0, err
	}
	// The name before it may contain spaces and parentheses.
	rest := p.buf[bytes.LastIndexByte(p.buf[:n], ')')+1 : n]
	field := 2
	for part := range bytes.FieldsSeq(rest) {
		switch field++; field {
		case 3:
			// A process that has ended but was not waited for still has clocks.
			if part[0] == 'Z' || part[0] == 'X' {
				return 0, 0, ErrGone
			}
		case 14:
			user = number(part)
		case 15:
			return user, number(part), nil
		}
	}
	return 0, 0, errors.New("stat is too short")
}

func number(digits []byte) (n int64) {
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	return n
}

func processError(pid int, err error) error {
	if errors.Is(err, ErrGone) {
		return &goneError{pid: pid}
	}
	return fmt.Errorf("read CPU time of process %d: %w", pid, err)
}

// goneError is ErrGone with the pid.
type goneError struct{ pid int }

func (e *goneError) Error() string { return fmt.Sprintf("server process %d is gone", e.pid) }

func (e *goneError) Unwrap() error { return ErrGone }

// Own returns the CPU time of this process in nanoseconds.
func Own() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return ts.Nano(), nil
}

// Used returns the CPU time of this process in seconds, minus less nanoseconds; 0 if it
// cannot be read, or is not positive.
func Used(less int64) float64 {
	own, err := Own()
	if err != nil {
		return 0
	}
	return float64(max(0, own-less)) / 1e9
}
