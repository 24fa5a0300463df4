package symbols

import (
	"encoding/binary"
	"strings"
)

// Fields of a function's description (_func in runtime/runtime2.go), in bytes.
const (
	funcName  = 4
	funcSP    = 16
	funcFile  = 20
	funcLine  = 24
	funcPCs   = 28 // number of tables
	funcUnit  = 32
	funcStart = 36 // line, since Go 1.20

	tableInline = 2  // PCDATA_InlTreeIndex
	dataInline  = 3  // FUNCDATA_InlTree
	inlineSize  = 16 // bytes of runtime.inlinedCall, since Go 1.20
)

// GoFunction returns where the code of a function of a Go program is in the file; false if the
// function has no code of its own.
func (f *File) GoFunction(name string) (offset uint64, ok bool) {
	t := f.golang
	if t == nil {
		return 0, false
	}
	for i := range t.funcs {
		info := t.index + uint64(binary.LittleEndian.Uint32(t.data[t.index+8*uint64(i)+4:]))
		if info+44 <= uint64(len(t.data)) && t.string(t.names+uint64(t.word(info+funcName))) == name {
			return f.offset(t.text + uint64(t.entry(i)))
		}
	}
	return 0, false
}

// lookup returns the functions at an address, with inlined calls.
func (t *goTable) lookup(addr uint64) []Frame {
	info, entry, ok := t.find(addr)
	if !ok {
		return nil
	}
	outer := Frame{Name: t.name(uint64(t.word(info + funcName)))}
	if outer.Name == "" {
		return nil
	}
	if !t.old {
		outer.StartLine = int(int32(t.word(info + funcStart)))
	}
	var frames []Frame
	tree, pc := t.tree(info), addr
	for tree != 0 && len(frames) < maxInlined {
		call, ok := t.inlined(tree, info, entry, pc)
		if !ok {
			break
		}
		frame := Frame{Name: t.name(uint64(call.name)), StartLine: int(int32(call.line))}
		t.position(&frame, info, entry, pc)
		frames = append(frames, frame)
		pc = entry + uint64(call.parent)
	}
	t.position(&outer, info, entry, pc)
	return append(frames, outer)
}

// position sets file and line of an address.
func (t *goTable) position(f *Frame, info, entry, pc uint64) {
	if line, ok := t.value(t.word(info+funcLine), entry, pc); ok && line > 0 {
		f.Line = int(line)
	}
	number, ok := t.value(t.word(info+funcFile), entry, pc)
	if !ok || number < 0 {
		return
	}
	at := t.word(t.units + 4*(uint64(t.word(info+funcUnit))+uint64(number)))
	if at != ^uint32(0) {
		f.File = t.string(t.files + uint64(at))
	}
}

// call is one that was inlined (runtime.inlinedCall).
type call struct{ name, parent, line uint32 }

// tree returns the address of a function's inlined calls, 0 if it has none.
func (t *goTable) tree(info uint64) uint64 {
	if t.old || t.gofunc == 0 {
		return 0
	}
	pcs := uint64(t.word(info + funcPCs))
	if datas := t.data[info+43]; datas <= dataInline || pcs <= tableInline || pcs > 64 {
		return 0
	}
	off := t.word(info + 44 + 4*pcs + 4*dataInline)
	if off == ^uint32(0) {
		return 0
	}
	return t.gofunc + uint64(off)
}

// inlined returns the innermost inlined call that an instruction belongs to.
func (t *goTable) inlined(tree, info, entry, pc uint64) (call, bool) {
	i, ok := t.value(t.word(info+44+4*tableInline), entry, pc)
	if !ok || i < 0 {
		return call{}, false
	}
	off, ok := t.file.offset(tree + inlineSize*uint64(i))
	if !ok {
		return call{}, false
	}
	var p [inlineSize]byte
	if t.file.read(p[:], off) != nil {
		return call{}, false
	}
	c := call{name: binary.LittleEndian.Uint32(p[4:]), parent: binary.LittleEndian.Uint32(p[8:]), line: binary.LittleEndian.Uint32(p[12:])}
	// The call is made by the same function, at an instruction of another call or of none.
	return c, t.names+uint64(c.name) < uint64(len(t.data)) && entry+uint64(c.parent) < t.end
}

// depth returns how far above the stack pointer the return address is.
func (t *goTable) depth(addr uint64) (int64, bool) {
	info, entry, ok := t.find(addr)
	if !ok || t.word(info+funcSP) == 0 {
		return 0, false
	}
	d, ok := t.value(t.word(info+funcSP), entry, addr)
	return int64(d), ok && d >= 0
}

// value looks an address up in a table of program counters (runtime.pcvalue): pairs of
// differences of the value and of the address.
func (t *goTable) value(table uint32, entry, addr uint64) (int32, bool) {
	if table == 0 || t.pcs+uint64(table) >= uint64(len(t.data)) {
		return 0, false
	}
	p, value, pc := t.data[t.pcs+uint64(table):], int32(-1), entry
	for step := range maxSteps {
		if t.steps++; t.steps > maxWork {
			return 0, false
		}
		change, n := binary.Uvarint(p)
		if n <= 0 || change == 0 && step > 0 {
			return 0, false
		}
		p = p[n:]
		length, n := binary.Uvarint(p)
		if n <= 0 {
			return 0, false
		}
		p = p[n:]
		value += int32(uint32(change)>>1) ^ -int32(change&1)
		pc += length * t.quantum
		if addr < pc {
			return value, true
		}
	}
	return 0, false
}

// name returns the name of a function as tracebacks print it: [...] stands for type arguments.
func (t *goTable) name(at uint64) string {
	name := t.string(t.names + at)
	from, to := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if from >= 0 && to > from {
		return name[:from] + "[...]" + name[to+1:]
	}
	return name
}

// string returns the text at an offset in data.
func (t *goTable) string(at uint64) string { return cstring(t.data, at, maxName) }
