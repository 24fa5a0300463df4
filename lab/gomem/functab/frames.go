package functab

import "encoding/binary"

const (
	maxInlined = 64 // functions that were inlined into each other
	treeIndex  = 2  // which of the lists by address has the index into the tree (PCDATA_InlTreeIndex)
	treeData   = 3  // which of the function's data is the tree (FUNCDATA_InlTree)
)

// A Frame is a function and the line that it executes.
type Frame struct {
	Func string // as runtime.Frame.Function: "example.org/shop.(*Cart).Add", "main.Map[...]"
	// Symbol is the name in the binary, which profiles of runtime/pprof have: "main.Map[go.shape.int]".
	Symbol string
	File   string // as the compiler was told: an absolute path without -trimpath
	Line   int
	Start  int // line of the function's declaration
	// PC is the address that the runtime gives the frame in runtime.Frame. Those of the functions
	// that another was inlined into are addresses of marks.
	PC      uint64
	Inlined bool
}

// Frames returns the functions that an instruction at pc belongs to: the function whose code was
// inlined first, and last the one that has the code. For a return address, pc is the address
// minus 1. Wrappers that the compiler has generated are left out, unless there is nothing else.
// It is nil if pc is not in the code.
func (t *Table) Frames(pc uint64) []Frame {
	f, ok := t.Find(pc)
	if !ok {
		return nil
	}
	var frames []Frame
	for range maxInlined {
		file, line := f.position(pc)
		call, inlined := f.inlined(pc)
		frame, kind := Frame{File: file, Line: line, PC: pc, Inlined: inlined}, f.kind()
		if inlined {
			frame.Symbol, frame.Start, kind = text(t.names, uint64(call.name)), int(call.start), call.kind
		} else {
			frame.Symbol, frame.Start = f.Name(), int(int32(f.word(36)))
		}
		frame.Func = Printed(frame.Symbol)
		if kind != t.wrapper || t.wrapper == 0 || !inlined && len(frames) == 0 {
			frames = append(frames, frame)
		}
		if !inlined {
			break
		}
		pc = f.Entry + uint64(call.parent)
	}
	return frames
}

// Expand returns the functions of a stack of return addresses as runtime.Callers and the
// runtime's profiles have them. It may have an address for each function that was inlined, or
// only those that are in the stack.
func (t *Table) Expand(stack []uint64) []Frame {
	var frames []Frame
	for len(stack) > 0 {
		list := t.Frames(stack[0] - 1)
		stack = stack[1:]
		for i, f := range list {
			if i > 0 && len(stack) > 0 && stack[0] == f.PC+1 {
				stack = stack[1:]
			} else if i > 0 && len(stack) == 0 {
				break // the stack was cut here
			}
			frames = append(frames, f)
		}
	}
	return frames
}

// position returns the line that an instruction was compiled from.
func (f Func) position(pc uint64) (string, int) {
	t := f.table
	n := f.value(f.word(20), pc)
	if n < 0 {
		return "", 0
	}
	at := (uint64(f.word(32)) + uint64(n)) * 4
	if at+4 > uint64(len(t.units)) {
		return "", 0
	}
	return text(t.files, uint64(binary.LittleEndian.Uint32(t.units[at:]))), int(max(f.value(f.word(24), pc), 0))
}

// A call is an entry of a tree of inlined functions (runtime.inlinedCall).
type call struct {
	kind   byte
	name   uint32
	parent uint32 // offset of an instruction in the function that it was inlined into
	start  int32
}

// inlined returns the call that an instruction was inlined for.
func (f Func) inlined(pc uint64) (call, bool) {
	lists, datas := f.word(28), uint32(f.rec[43])
	if lists <= treeIndex || datas <= treeData || f.table.gofunc == 0 || f.table.read == nil {
		return call{}, false
	}
	at := record + 4*(uint64(lists)+treeData)
	if at+4 > uint64(len(f.rec)) {
		return call{}, false
	}
	list, data := f.word(record+4*treeIndex), f.word(int(at))
	const none, size = ^uint32(0), 16
	if list == 0 || data == none {
		return call{}, false
	}
	i := f.value(list, pc)
	if i < 0 || i >= 1<<20 {
		return call{}, false
	}
	var p [size]byte
	if err := f.table.read(p[:], f.table.gofunc+uint64(data)+uint64(i)*size); err != nil {
		return call{}, false
	}
	return call{
		kind:   p[0],
		name:   binary.LittleEndian.Uint32(p[4:]),
		parent: binary.LittleEndian.Uint32(p[8:]),
		start:  int32(binary.LittleEndian.Uint32(p[12:])),
	}, true
}
