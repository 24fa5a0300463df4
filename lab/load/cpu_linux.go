package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// errGone is what reading a process's clocks says when there is no such process
// any more.
var errGone = errors.New("server process is gone")

// process is one whose CPU time is read. The open stat file stays with the
// process that it was opened for: a reused number cannot be taken for it.
type process struct {
	pid  int
	stat int // descriptor of /proc/PID/stat
}

// cpuTime is CPU time of all server processes since their start.
type cpuTime struct {
	total     int64 // nanoseconds, scheduler's clock
	user, sys int64 // clock ticks
}

// processes reads the CPU clocks of the server.
type processes struct {
	list []process
	buf  [1024]byte
}

func openProcesses(pids []int) (*processes, error) {
	p := &processes{}
	for _, pid := range pids {
		fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			p.close()
			if errors.Is(err, unix.ENOENT) {
				err = errGone
			}
			return nil, processError(pid, err)
		}
		p.list = append(p.list, process{pid: pid, stat: fd})
	}
	return p, nil
}

func (p *processes) close() {
	for _, one := range p.list {
		// A descriptor that was only read has nothing to report.
		_ = unix.Close(one.stat)
	}
	p.list = nil
}

// read sums the clocks of all processes.
func (p *processes) read() (cpuTime, error) {
	var sum cpuTime
	for _, one := range p.list {
		user, sys, err := p.readStat(one.stat)
		if err != nil {
			return sum, processError(one.pid, err)
		}
		// The clock of a whole process: CPUCLOCK_SCHED of its id, see
		// linux/posix-timers_types.h.
		var ts unix.Timespec
		if err := unix.ClockGettime(int32(^one.pid<<3|2), &ts); err != nil {
			if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
				err = errGone
			}
			return sum, processError(one.pid, err)
		}
		sum.total += ts.Nano()
		sum.user += user
		sum.sys += sys
	}
	return sum, nil
}

// readStat reads fields 14 and 15 of proc(5), utime and stime.
func (p *processes) readStat(fd int) (user, sys int64, err error) {
	n, err := unix.Pread(fd, p.buf[:], 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, 0, errGone
	}
	if err != nil {
		return 0, 0, err
	}
	// The name before it may hold blanks and brackets.
	rest := p.buf[bytes.LastIndexByte(p.buf[:n], ')')+1 : n]
	field := 2
	for part := range bytes.FieldsSeq(rest) {
		switch field++; field {
		case 3:
			// A process that ended but was not waited for still has clocks.
			if part[0] == 'Z' || part[0] == 'X' {
				return 0, 0, errGone
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
	if errors.Is(err, errGone) {
		return &goneError{pid: pid}
	}
	return fmt.Errorf("read CPU time of process %d: %w", pid, err)
}

// goneError is errGone with the process's number.
type goneError struct{ pid int }

func (e *goneError) Error() string { return fmt.Sprintf("server process %d is gone", e.pid) }

func (e *goneError) Unwrap() error { return errGone }

// split divides the CPU time between two readings into user and system seconds.
// The proportion comes from the clock ticks, the sum from the scheduler's clock.
func split(from, to cpuTime) (user, sys, total float64) {
	total = float64(to.total-from.total) / 1e9
	u, s := float64(to.user-from.user), float64(to.sys-from.sys)
	if u+s <= 0 {
		return total, 0, total
	}
	return total * u / (u + s), total * s / (u + s), total
}

// ownCPU is the CPU time of this process in nanoseconds.
func ownCPU() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return ts.Nano(), nil
}
