package group

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A Log reads the kernel's log from the time it was opened.
type Log struct{ file *os.File }

// A Victim is a process that the kernel killed because a group was short of memory.
type Victim struct {
	PID  int    // in the pid namespace of the machine
	Name string // truncated to 15 bytes
}

// OpenLog opens the kernel's log at its end. It needs root, or CAP_SYSLOG.
func OpenLog() (*Log, error) {
	fd, err := syscall.Open("/dev/kmsg", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/kmsg: %w", err)
	}
	if _, err := syscall.Seek(fd, 0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("open /dev/kmsg: %w", errors.Join(err, syscall.Close(fd)))
	}
	return &Log{os.NewFile(uintptr(fd), "/dev/kmsg")}, nil
}

// mostRecords bounds the records that one call reads: other programs write to the log too.
const mostRecords = 10_000

// Victims returns the processes of a group that were killed, as far as the log has records that
// were not read yet. It does not wait.
func (l *Log) Victims(group string) (list []Victim, err error) {
	raw, err := l.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	buffer := make([]byte, 8<<10) // of one record
	failed := raw.Control(func(fd uintptr) {
		for range mostRecords {
			n, e := syscall.Read(int(fd), buffer)
			switch {
			case errors.Is(e, syscall.EPIPE): // records were overwritten before they were read
				continue
			case errors.Is(e, syscall.EAGAIN) || e == nil && n == 0:
				return
			case e != nil:
				err = fmt.Errorf("read /dev/kmsg: %w", e)
				return
			}
			if v, ok := parse(string(buffer[:n]), group); ok {
				list = append(list, v)
			}
		}
	})
	return list, errors.Join(err, failed)
}

// parse returns the victim from a record of the log, since Linux 5.0:
//
//	6,430,86895203931,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,
//	oom_memcg=/GROUP,task_memcg=/GROUP,task=NAME,pid=30426,uid=0
//
// The name is the victim's own, so it may have commas.
func parse(record, group string) (v Victim, ok bool) {
	_, text, _ := strings.Cut(record, ";")
	text, ok = strings.CutPrefix(text, "oom-kill:")
	if !ok || !strings.Contains(text, ",oom_memcg="+group+",") {
		return v, false
	}
	_, text, ok = strings.Cut(text, ",task=")
	end := strings.LastIndex(text, ",pid=")
	if !ok || end < 0 {
		return v, false
	}
	v.Name = text[:end]
	number, _, _ := strings.Cut(text[end+len(",pid="):], ",")
	pid, err := strconv.Atoi(number)
	v.PID = pid
	return v, err == nil
}

// Close closes the log.
func (l *Log) Close() error { return l.file.Close() }
