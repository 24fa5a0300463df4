package stacks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/profile/symbols"
)

const maxPrograms = 512

// program is a file with code.
type program struct {
	path string // as the first process saw it
	file *os.File
	elf  *symbols.File // nil if it could not be read
	err  error
}

// identity is a file's, whatever its paths are.
type identity struct{ device, inode uint64 }

// files are the programs and libraries that were opened. They stay open until the profile is built.
type files struct {
	open   map[identity]*program
	failed map[string]error // by path: what could not be opened
	vdso   *program
	kernel *symbols.Kernel
}

func newFiles() *files { return &files{open: map[identity]*program{}, failed: map[string]error{}} }

func (f *files) close() error {
	var errs []error
	for _, b := range f.open {
		errs = append(errs, b.file.Close())
	}
	return errors.Join(errs...)
}

// of returns the program of a mapping, nil if it has none that can be read. It is opened when
// the first sample is in it: later the process may be gone.
func (f *files) of(pid int, m *mapping) *program {
	if m.opened {
		return m.program
	}
	m.opened = true
	switch {
	case m.path == "[vdso]":
		m.program = f.ownVDSO()
	case m.anonymous() || !strings.HasPrefix(m.path, "/"):
	default:
		file, err := openMapping(pid, m)
		if err == nil {
			m.program, err = f.read(m.path, file)
		}
		if err != nil && len(f.failed) < maxPrograms {
			f.failed[m.path] = err
		}
	}
	return m.program
}

// read reads the tables of a file, or returns those that were read before.
func (f *files) read(path string, file *os.File) (*program, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	id := identity{st.Dev, st.Ino}
	if b, ok := f.open[id]; ok {
		return b, file.Close()
	}
	if len(f.open) >= maxPrograms {
		return nil, errors.Join(fmt.Errorf("more than %d programs and libraries: %w", maxPrograms, symbols.ErrTooLarge), file.Close())
	}
	b := &program{path: path, file: file}
	b.elf, b.err = symbols.Open(file)
	f.open[id] = b
	return b, nil
}

// ownVDSO reads the code that the kernel maps into every process from this one.
func (f *files) ownVDSO() *program {
	if f.vdso != nil {
		return f.vdso
	}
	f.vdso = &program{path: "[vdso]"}
	own := newSpace(os.Getpid())
	own.load()
	for _, m := range own.maps {
		if m.path != "[vdso]" || m.end-m.start > 1<<20 {
			continue
		}
		p := make([]byte, m.end-m.start)
		mem, err := os.Open("/proc/self/mem")
		if err != nil {
			f.vdso.err = err
			break
		}
		_, err = mem.ReadAt(p, int64(m.start))
		if err = errors.Join(err, mem.Close()); err == nil {
			f.vdso.elf, err = symbols.Open(bytes.NewReader(p))
		}
		f.vdso.err = err
	}
	return f.vdso
}

var errReplaced = errors.New("the file was replaced since the process has mapped it")

// openMapping opens the file of a mapping as the process sees it, also if it was deleted or is
// in a container. Only regular files are opened.
func openMapping(pid int, m *mapping) (*os.File, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	if f, err := openRegular(fmt.Sprintf("%s/map_files/%x-%x", dir, m.start, m.end), 0); err == nil {
		return f, nil
	}
	if exe, err := os.Readlink(dir + "/exe"); err == nil && exe == m.path {
		if f, err := openRegular(dir+"/exe", 0); err == nil {
			return f, nil
		}
	}
	root, err := os.Open(dir + "/root")
	if procfs.Gone(err) {
		root, err = os.Open("/") // it has ended: the inode says whether it is the same file
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(root.Fd()), m.path, &how)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", m.path, err)
	}
	f := os.NewFile(uintptr(fd), m.path)
	return checked(f, m.inode)
}

// openRegular opens a link of /proc if it is to a regular file.
func openRegular(path string, inode uint64) (*os.File, error) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, os.ErrInvalid)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return checked(f, inode)
}

// checked closes files that are not regular, or not the one that is wanted.
func checked(f *os.File, inode uint64) (*os.File, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = fmt.Errorf("%s is no regular file", f.Name())
	case inode != 0 && st.Ino != inode:
		err = errReplaced
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// readMap reads the functions that the process's compiler has written into its perf map.
func readMap(pid int) (*symbols.Map, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	lines, err := procfs.Host.Lines("proc", strconv.Itoa(pid), "status")
	if err != nil {
		return nil, err
	}
	inner := strconv.Itoa(pid)
	if ids := procfs.Value(lines, "NSpid"); len(ids) > 0 {
		inner = ids[len(ids)-1] // the process writes the number that it knows
	}
	root, err := os.Open(dir + "/root")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(root.Fd()), "/tmp/perf-"+inner+".map", &how)
	if err != nil {
		return nil, err
	}
	f, err := checked(os.NewFile(uintptr(fd), "perf map"), 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	owners := procfs.Value(lines, "Uid")
	if len(owners) < 2 || owners[1] != strconv.FormatUint(uint64(st.Uid), 10) {
		return nil, fmt.Errorf("/tmp/perf-%s.map belongs to user %d, not to the process's: it is not read", inner, st.Uid)
	}
	return symbols.ReadMap(f)
}

// readKernel reads the functions of the kernel.
func (f *files) readKernel() error {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return err
	}
	defer file.Close()
	f.kernel, err = symbols.ReadKernel(io.Reader(file))
	return err
}
