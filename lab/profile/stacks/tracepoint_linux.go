package stacks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tracepoint is a place in the kernel that tells when it is passed.
type tracepoint struct {
	id     uint64
	fields map[string]fieldPlace
}

// fieldPlace is where a field is in a record, in bytes.
type fieldPlace struct{ offset, size int }

// tracepoints finds those of the scheduler.
func tracepoints() (leave, wake tracepoint, err error) {
	root, err := tracefs()
	if err != nil {
		return leave, wake, err
	}
	defer root.Close()
	if leave, err = readTracepoint(root, "sched_switch", "prev_pid", "prev_state"); err != nil {
		return leave, wake, err
	}
	wake, err = readTracepoint(root, "sched_wakeup", "pid")
	return leave, wake, err
}

// tracefs opens the directory of the kernel's tracepoints. If it is mounted nowhere, root gets
// a mount that is attached to no directory and ends with its descriptor.
func tracefs() (*os.Root, error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/events/sched"); err == nil {
			return os.OpenRoot(dir)
		}
	}
	return mountTracefs()
}

// mountTracefs makes the mount that is attached nowhere.
func mountTracefs() (*os.Root, error) {
	fs, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("%w: mount tracefs: %w", ErrNoTracepoint, err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("%w: mount tracefs: %w", ErrNoTracepoint, err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("%w: mount tracefs: %w", ErrNoTracepoint, err)
	}
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(mount))
	return root, errors.Join(err, unix.Close(mount))
}

var fieldLine = regexp.MustCompile(`field:[^;]*?(\w+)(?:\[\d*\])?;\s*offset:(\d+);\s*size:(\d+);`)

// readTracepoint reads the number of a tracepoint of the scheduler, and where its fields are.
func readTracepoint(root *os.Root, name string, fields ...string) (tracepoint, error) {
	t := tracepoint{fields: map[string]fieldPlace{}}
	text := func(file string) (string, error) {
		f, err := root.Open("events/sched/" + name + "/" + file)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoTracepoint, err)
		}
		defer f.Close()
		p, err := io.ReadAll(io.LimitReader(f, 64<<10))
		return strings.TrimSpace(string(p)), err
	}
	id, err := text("id")
	if err != nil {
		return t, err
	}
	if t.id, err = strconv.ParseUint(id, 10, 64); err != nil {
		return t, fmt.Errorf("read the number of %s: %w", name, err)
	}
	format, err := text("format")
	if err != nil {
		return t, err
	}
	for _, m := range fieldLine.FindAllStringSubmatch(format, -1) {
		offset, err1 := strconv.Atoi(m[2])
		size, err2 := strconv.Atoi(m[3])
		if err1 == nil && err2 == nil {
			t.fields[m[1]] = fieldPlace{offset, size}
		}
	}
	for _, f := range fields {
		if _, ok := t.fields[f]; !ok {
			return t, fmt.Errorf("the tracepoint %s has no field %s: %w", name, f, errors.ErrUnsupported)
		}
	}
	return t, nil
}
