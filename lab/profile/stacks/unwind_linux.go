package stacks

import (
	"encoding/binary"
	"strconv"

	"github.com/redline-go/redline/lab/profile/perfevent"
	"github.com/redline-go/redline/lab/profile/symbols"
)

const (
	goTop     = 64      // bytes of the stack that are recorded for programs of Go
	nativeTop = 8 << 10 // for others, which may have no frame pointers
	maxFrames = 127     // of a program, as many as the kernel follows
)

// top decides how much of the stack is recorded.
func (s *session) top() int {
	for pid := range s.processes {
		path := "/proc/" + strconv.Itoa(pid) + "/exe"
		file, err := openRegular(path, 0)
		if err != nil {
			continue
		}
		if b, err := s.files.read(path, file); err == nil && (b.elf == nil || !b.elf.Go()) {
			return nativeTop
		}
	}
	return goTop
}

// unwind completes the stack that the kernel has found by frame pointers.
func (s *session) unwind(sp *space, user []uint64, l *perfevent.Leaf) []uint64 {
	if l == nil || len(user) == 0 || user[0] != l.IP {
		return user
	}
	m := s.mapping(sp, l.IP)
	if m == nil || m.program == nil || m.program.elf == nil {
		return user
	}
	if m.program.elf.Go() {
		return s.addCaller(sp, m, user, l)
	}
	w := walk{session: s, space: sp, leaf: l, chain: user[1:], out: make([]uint64, 0, maxFrames), sp: l.SP, bp: l.BP, intact: true}
	return w.run()
}

// address returns where in its file an address of the process is.
func (m *mapping) address(addr uint64) (uint64, bool) {
	if m.path == "[vdso]" {
		return addr - m.start, true
	}
	return m.program.elf.Address(addr - m.start + m.offset)
}

// word reads a word of the recorded stack.
func word(l *perfevent.Leaf, at uint64) (uint64, bool) {
	if at < l.SP || at-l.SP+8 > uint64(len(l.Stack)) || at-l.SP > 1<<20 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(l.Stack[at-l.SP:]), true
}

// addCaller adds the caller of a Go function that has no frame of its own, or has not made it
// yet: frame pointers lead from it to the caller's caller.
func (s *session) addCaller(sp *space, m *mapping, user []uint64, l *perfevent.Leaf) []uint64 {
	addr, ok := m.address(l.IP)
	if !ok {
		return user
	}
	depth, ok := m.program.elf.Depth(addr)
	if !ok || l.BP == l.SP+uint64(depth)-8 {
		return user
	}
	caller, ok := word(l, l.SP+uint64(depth))
	if !ok || len(user) > 1 && user[1] == caller || s.mapping(sp, caller) == nil {
		return user
	}
	out := append(make([]uint64, 0, len(user)+1), user[0], caller)
	return append(out, user[1:]...)
}

// walk follows a stack by the tables for exceptions, and by frame pointers where there are
// none. The kernel's chain of frame pointers is behind both:
//
//	function without frame pointer ─▶ another ─▶ function with frame pointer ─▶ ...
//	  tables                           tables      chain[0] is its caller
type walk struct {
	*session
	space  *space
	leaf   *perfevent.Leaf
	chain  []uint64 // what is left of the kernel's
	out    []uint64
	sp, bp uint64
	// intact says that BP is what the kernel's chain began with, or continues with.
	intact bool
}

func (w *walk) run() []uint64 {
	ip := w.leaf.IP
	for len(w.out) < maxFrames {
		w.out = append(w.out, ip)
		m := w.mapping(w.space, before(ip, len(w.out)-1))
		if m == nil {
			return w.out
		}
		step, rule := w.step(m, before(ip, len(w.out)-1))
		switch rule {
		case outermost:
			return w.out
		case pointers:
			return w.rest()
		}
		next, ok := w.up(step)
		if !ok {
			return w.rest()
		}
		if next == 0 {
			return w.out
		}
		ip = next
	}
	return w.out
}

// rule is how to go on from a function.
type rule int

const (
	table     rule = iota
	pointers       // there is no table: code of Go, or compiled at run time
	outermost      // the table says that there is no caller
)

func (w *walk) step(m *mapping, addr uint64) (symbols.Step, rule) {
	if m.program == nil || m.program.elf == nil || m.program.elf.Go() {
		return symbols.Step{}, pointers
	}
	at, ok := m.address(addr)
	if !ok {
		return symbols.Step{}, pointers
	}
	if step, ok := m.program.elf.Step(at); ok {
		return step, table
	}
	if m.program.elf.Outermost(at) {
		return symbols.Step{}, outermost
	}
	return symbols.Step{}, pointers
}

// up goes to the caller, and returns the address to which the function returns.
func (w *walk) up(step symbols.Step) (uint64, bool) {
	const size = 16 // of a return address and a frame pointer
	framed := step.FromBP && step.CFA == size
	cfa := w.sp + uint64(step.CFA)
	if step.FromBP {
		cfa = w.bp + uint64(step.CFA)
	}
	ret, ok := word(w.leaf, cfa+uint64(step.Return))
	if !ok {
		return 0, false
	}
	if framed && w.intact && len(w.chain) > 0 && w.chain[0] == ret {
		w.chain = w.chain[1:]
	}
	if step.Saved {
		bp, ok := word(w.leaf, cfa+uint64(step.BP))
		if !ok {
			return 0, false
		}
		// A function that uses BP for something else has misled the kernel.
		w.intact = w.intact && (framed || bp == w.bp)
		w.bp = bp
	}
	w.sp = cfa
	return ret, true
}

// rest adds what the kernel has found beyond the part of the stack that was recorded.
func (w *walk) rest() []uint64 {
	if !w.intact {
		w.cut++
		return w.out
	}
	return append(w.out, w.chain[:min(len(w.chain), maxFrames-len(w.out))]...)
}
