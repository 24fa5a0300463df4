package gomem

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/redline-go/redline/lab/gomem/functab"
)

// A Frame is a function of a stack, and the line that it executes.
type Frame = functab.Frame

// A Stack is what a goroutine has called. It is shared by all goroutines that have the same,
// and must not be changed.
type Stack struct {
	// Frames has the innermost function first. Functions that were inlined have frames of their
	// own. Where a goroutine ends (runtime.goexit) has none.
	Frames []Frame
	// Cut means that the callers of the last frame are missing: the stack is deeper than was
	// asked for, or what was read makes no sense from there on.
	Cut bool
}

const (
	maxStacks = 1 << 16 // stacks that are kept
	maxKept   = 1 << 20 // frames of them all, and addresses of code
)

// symbols is what is known of the code of a process.
type symbols struct {
	table  *functab.Table
	unwind *functab.Unwinder
	file   *os.File
	image  *image
	path   string // of the binary, as the process knows it
	bias   uint64
	frames map[uint64][]Frame // by address of the file
	stacks map[string]*Stack
	roots  map[string]*Stack // of goroutines that run, by the function that they began with
	kept   int               // frames in stacks
	key    []byte
}

// symbolize reads the table of functions when it is needed first. The file stays open for what is
// read of it later.
func (p *Process) symbolize() (*symbols, error) {
	if p.syms != nil {
		return p.syms, nil
	}
	file, err := executable(p.info.PID)
	if err != nil {
		return nil, fmt.Errorf("open the program: %w", err)
	}
	s, err := p.newSymbols(file)
	if err == nil {
		err = p.mem.alive() // the file is that of the process which was opened
	}
	if err != nil {
		_ = file.Close() // it was only read
		return nil, fmt.Errorf("read the functions of process %d, built by %s: %w", p.info.PID, p.info.Version, err)
	}
	p.syms = s
	return s, nil
}

func (p *Process) newSymbols(file *os.File) (s *symbols, err error) {
	defer guard(&err)
	im, err := newImage(file)
	if err != nil {
		return nil, err
	}
	bias, err := im.bias(p.info.PID)
	if err != nil {
		return nil, err
	}
	t, err := im.functions(func(b []byte, addr uint64) error { return p.mem.one(b, addr+bias) }, bias)
	if err != nil {
		return nil, err
	}
	s = &symbols{table: t, file: file, image: im, bias: bias, unwind: t.Unwinder(bias, im.arch == "arm64")}
	s.path, _ = os.Readlink(filepath.Join("/proc", strconv.Itoa(p.info.PID), "exe")) // a name for people: it may be missing
	s.forget()
	return s, nil
}

// forget drops what was kept, so that a process that always has new stacks costs no memory.
func (s *symbols) forget() {
	s.frames, s.stacks, s.roots, s.kept = map[uint64][]Frame{}, map[string]*Stack{}, map[string]*Stack{}, 0
}

// full reports whether it is time to forget.
func (s *symbols) full() bool {
	return len(s.stacks) >= maxStacks || s.kept >= maxKept || len(s.frames) >= maxKept
}

// at returns the functions at pc, an address of the file.
func (s *symbols) at(pc uint64) []Frame {
	list, ok := s.frames[pc]
	if !ok {
		list = s.table.Frames(pc)
		if !s.full() {
			s.frames[pc] = list
		}
	}
	return list
}

// stack returns the stack with some return addresses of the process.
func (s *symbols) stack(pcs []uint64, cut bool) *Stack {
	s.key = s.key[:0]
	for _, pc := range pcs {
		for range 8 {
			s.key, pc = append(s.key, byte(pc)), pc>>8
		}
	}
	if cut {
		s.key = append(s.key, 1)
	}
	if st, ok := s.stacks[string(s.key)]; ok {
		return st
	}
	st := &Stack{Cut: cut}
	for _, pc := range pcs {
		st.Frames = append(st.Frames, s.at(pc-1-s.bias)...)
	}
	if !s.full() {
		s.stacks[string(s.key)] = st
		s.kept += len(st.Frames)
	}
	return st
}
