package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// FS is the directory that contains proc and sys.
type FS string

// Host is the root of the machine.
const Host FS = "/"

// Path joins the parts to a path.
func (f FS) Path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// Bytes returns a file's content. For [Host] it returns [errors.ErrUnsupported] on other
// systems than Linux.
func (f FS) Bytes(parts ...string) ([]byte, error) {
	path := f.Path(parts...)
	if err := f.supported(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func (f FS) supported(path string) error {
	if f == Host && runtime.GOOS != "linux" {
		return fmt.Errorf("read %s on %s, only Linux has it: %w", path, runtime.GOOS, errors.ErrUnsupported)
	}
	return nil
}

// Text returns a file's content without surrounding white space.
func (f FS) Text(parts ...string) (string, error) {
	b, err := f.Bytes(parts...)
	return strings.TrimSpace(string(b)), err
}

// Fields returns the words of a file.
func (f FS) Fields(parts ...string) ([]string, error) {
	b, err := f.Bytes(parts...)
	return strings.Fields(string(b)), err
}

// Lines returns the lines of a file.
func (f FS) Lines(parts ...string) ([]string, error) {
	text, err := f.Text(parts...)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

// Int returns the number at the start of a file.
func (f FS) Int(parts ...string) (int, error) {
	words, err := f.Fields(parts...)
	if err != nil {
		return 0, err
	}
	if len(words) == 0 {
		return 0, fmt.Errorf("read %s: it is empty", f.Path(parts...))
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Path(parts...), err)
	}
	return n, nil
}

// Names returns the names in a directory.
func (f FS) Names(parts ...string) ([]string, error) {
	path := f.Path(parts...)
	if err := f.supported(path); err != nil {
		return nil, err
	}
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	return names, errors.Join(err, d.Close())
}

// OpenFiles counts the open files of a process. Since Linux 6.2 the size of their directory
// is the count; before, and in copies of it, they are listed.
func (f FS) OpenFiles(pid int) (int, error) {
	id := strconv.Itoa(pid)
	if f == Host {
		info, err := os.Stat(f.Path("proc", id, "fd"))
		if err != nil {
			return 0, err
		}
		if n := info.Size(); n > 0 {
			return int(n), nil
		}
	}
	names, err := f.Names("proc", id, "fd")
	return len(names), err
}

// PIDs returns all processes, in no order.
func (f FS) PIDs() ([]int, error) { return f.numbers("proc") }

// Threads returns the thread ids of a process.
func (f FS) Threads(pid int) ([]int, error) {
	return f.numbers("proc", strconv.Itoa(pid), "task")
}

func (f FS) numbers(parts ...string) ([]int, error) {
	names, err := f.Names(parts...)
	if err != nil {
		return nil, err
	}
	var ns []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			ns = append(ns, n)
		}
	}
	return ns, nil
}

// Value finds a line "NAME: VALUE" or "NAME VALUE" and returns the words of VALUE.
func Value(lines []string, name string) []string {
	for _, line := range lines {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest != "" && !strings.ContainsAny(rest[:1], ": \t") {
			continue
		}
		return strings.Fields(strings.TrimLeft(rest, ": \t"))
	}
	return nil
}

// Number is [Value] as one number; 0 if there is no such line.
func Number(lines []string, name string) uint64 {
	words := Value(lines, name)
	if len(words) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
