package functab

import "encoding/binary"

// A Start is where a stack is followed from: registers of a goroutine that does not run.
type Start struct {
	PC, SP, LR uint64
	Lo, Hi     uint64 // of the memory that the stack is in
	// Syscall means that these are the registers of before a system call: nothing has changed
	// the stack since.
	Syscall bool
}

// maxStack bounds a goroutine's stack in bytes; the runtime's own limit is 1 GB.
const maxStack = 1 << 32

// Sound reports whether the registers can belong to the stack.
func (s Start) Sound() bool {
	return s.SP >= s.Lo && s.SP < s.Hi && s.SP%8 == 0 && s.Hi-s.Lo <= maxStack
}

// An Unwinder follows stacks of a process. It may be used by one goroutine at a time.
type Unwinder struct {
	table *Table
	bias  uint64
	link  bool
	steps map[uint64]step // by address of the file
}

// maxSteps is for how many addresses of code is kept how to find their callers.
const maxSteps = 1 << 18

// A step is how to get from a frame to that of its caller.
type step struct {
	depth uint64 // bytes on the stack
	kind  uint8
	entry bool // no instruction of the function was executed
}

const (
	stepUnknown = iota // no code of Go, or the stack cannot be followed
	stepUp
	stepLast   // the first function of a stack
	stepInject // a signal made the caller call this function, at any instruction
	stepSwitch // may change to another stack
)

// Unwinder returns an unwinder for a process that has moved the binary by bias. link means that
// a call of the machine leaves the return address in a register, as on arm64.
func (t *Table) Unwinder(bias uint64, link bool) *Unwinder {
	return &Unwinder{table: t, bias: bias, link: link, steps: map[uint64]step{}}
}

// step returns how to leave the function at pc, an address of the process.
func (u *Unwinder) step(pc uint64) step {
	pc -= u.bias
	if st, ok := u.steps[pc]; ok {
		return st
	}
	var st step
	if f, ok := u.table.Find(pc); ok {
		depth, ok := f.Depth(pc)
		st = step{depth: depth, entry: f.Entry == pc}
		switch {
		case f.Top():
			st.kind = stepLast
		case !ok:
		case f.Switches():
			st.kind = stepSwitch
		default:
			st.kind = stepUp
			switch f.Name() {
			case "runtime.asyncPreempt", "runtime.sigpanic", "runtime.debugCallV2":
				st.kind = stepInject
			}
		}
	}
	if len(u.steps) >= maxSteps {
		clear(u.steps)
	}
	u.steps[pc] = st
	return st
}

// Unwind follows a stack, of which mem has the bytes from SP, in the way that the runtime does
// (runtime/traceback.go): the table of functions has how much of the stack each function uses
// at each instruction. That is exact at any instruction and for every version of Go, unlike a
// chain of frame pointers, which lacks the caller of a function that was preempted before it
// has set up its frame, and which Go 1.22 does not keep for system calls.
//
// It appends return addresses to pcs, up to limit of them. Where a function was interrupted or
// has not begun, it is the address plus 1, so that one less is always within the function. short
// means that mem has too few bytes; cut that the callers of the last one are missing.
func (u *Unwinder) Unwind(from Start, mem []byte, pcs []uint64, limit int) (_ []uint64, cut, short bool) {
	pc, sp, lr := from.PC, from.SP, from.LR
	interrupted := false
	for first := true; len(pcs) < limit; first = false {
		st := u.step(pc)
		switch {
		case st.kind == stepLast:
			return pcs, false, false
		case st.kind == stepUnknown:
			return pcs, true, false
		}
		if interrupted || first && st.entry {
			pcs = append(pcs, pc+1)
		} else {
			pcs = append(pcs, pc)
		}
		if st.kind == stepSwitch && !(first && from.Syscall) {
			return pcs, true, false
		}
		next, at, fp := lr, sp, sp+st.depth
		if !u.link { // the call has pushed where to return to
			at, fp = fp, fp+8
		}
		ok := true
		if !u.link || first && sp < fp || lr == 0 {
			if next, ok = from.word(mem, at); !ok {
				return pcs, true, at >= from.SP && at <= from.Hi-8
			}
		}
		pc, sp, lr, interrupted = next, fp, 0, st.kind == stepInject
		if interrupted && u.link {
			x, ok := from.word(mem, sp)
			if !ok {
				return pcs, true, false
			}
			const pushed = 16
			sp += pushed
			if up := u.step(pc); up.kind == stepUnknown {
				pc = x
			} else if up.depth == 0 {
				lr = x
			}
		}
		if sp < from.SP || sp > from.Hi {
			return pcs, true, false
		}
	}
	return pcs, true, false
}

// word returns a word of the stack, of which mem has the bytes from SP.
func (s Start) word(mem []byte, addr uint64) (uint64, bool) {
	at := addr - s.SP
	if addr < s.SP || addr > s.Hi-8 || at+8 > uint64(len(mem)) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(mem[at:]), true
}
