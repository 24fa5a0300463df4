package functab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sort"
	"strings"
)

const (
	header       = 8 + 8*8
	maxFunctions = 8 << 20
	maxName      = 1024 // bytes of a name
	record       = 44   // bytes of a function's record before its lists of numbers
)

// ErrDamaged means that the table contradicts itself.
var ErrDamaged = errors.New("the table of functions (.gopclntab) is damaged")

// A Table is the table of functions of one binary.
type Table struct {
	data    []byte // from the header to the end
	names   []byte
	units   []byte // for each unit of compilation, offsets into files
	files   []byte
	steps   []byte // values by address, encoded
	funcs   []byte // entries, then records
	n       int
	quantum uint64 // bytes of the smallest instruction

	wrapper byte // kind of the functions that the compiler has generated; 0 is unknown

	text, gofunc uint64
	read         func(p []byte, addr uint64) error
}

// Search returns the offset of the first header in the bytes of a section, which is aligned to 8
// bytes, or -1. C linkers put the table into a section with other data.
func Search(section []byte) int {
	for i := 0; i+header <= len(section); i += 8 {
		h := section[i:]
		if binary.LittleEndian.Uint32(h) == 0xfffffff1 && h[4] == 0 && h[5] == 0 && (h[6] == 1 || h[6] == 4) && h[7] == 8 {
			return i
		}
	}
	return -1
}

// New reads the header of a table. The bytes belong to the table from then on; there may be
// others after it. The error is [ErrDamaged].
func New(data []byte) (*Table, error) {
	if len(data) < header || Search(data[:header]) != 0 {
		return nil, ErrDamaged
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8+8*i:]) }
	t := &Table{data: data, quantum: uint64(data[6])}
	for i, part := range []*[]byte{&t.names, &t.units, &t.files, &t.steps, &t.funcs} {
		at := word(3 + i)
		if at > uint64(len(data)) {
			return nil, ErrDamaged
		}
		*part = data[at:]
	}
	n := word(0)
	if n == 0 || n > maxFunctions || n*8+4 > uint64(len(t.funcs)) {
		return nil, ErrDamaged
	}
	t.n = int(n)
	t.wrapper = t.findWrapper()
	return t, nil
}

// findWrapper returns the kind of functions that the compiler has generated: wrappers of methods
// and of go statements. It is another number in each version of Go, the last one, after that of
// a function of which there is one in every binary (internal/abi/symtab.go).
func (t *Table) findWrapper() byte {
	for i := range t.n {
		if f, ok := t.at(i); ok && f.named("runtime.systemstack_switch\x00") {
			return f.kind() + 1
		}
	}
	return 0
}

// Place tells where the code of the binary begins (runtime.firstmoduledata.text), and where the
// functions' other data do (its gofunc), which read reads. Without them, which is gofunc 0, all
// functions that were inlined are missing.
func (t *Table) Place(text, gofunc uint64, read func(p []byte, addr uint64) error) {
	t.text, t.gofunc, t.read = text, gofunc, read
}

// Text returns the address of the first and after the last byte of code.
func (t *Table) Text() (from, to uint64) { return t.text + t.offset(0), t.text + t.offset(t.n) }

// Offset returns where the first function begins, relative to the beginning of the code.
func (t *Table) Offset() uint64 { return t.offset(0) }

func (t *Table) offset(i int) uint64 {
	return uint64(binary.LittleEndian.Uint32(t.funcs[8*i:]))
}

// A Func is one function of a table: one that has code of its own.
type Func struct {
	table      *Table
	rec        []byte // its record
	Entry, End uint64 // addresses of the first byte, and after the last
}

// at returns function i.
func (t *Table) at(i int) (Func, bool) {
	from := uint64(binary.LittleEndian.Uint32(t.funcs[8*i+4:]))
	if from+record > uint64(len(t.funcs)) {
		return Func{}, false
	}
	return Func{t, t.funcs[from:], t.text + t.offset(i), t.text + t.offset(i+1)}, true
}

// Find returns the function that has an instruction at pc.
func (t *Table) Find(pc uint64) (Func, bool) {
	if from, to := t.Text(); pc < from || pc >= to {
		return Func{}, false
	}
	off := pc - t.text
	i := sort.Search(t.n, func(i int) bool { return t.offset(i) > off })
	if i == 0 {
		return Func{}, false
	}
	return t.at(i - 1)
}

// Each calls f for each function whose name begins with a prefix.
func (t *Table) Each(prefix string, f func(name string, fn Func)) {
	for i := range t.n {
		if fn, ok := t.at(i); ok && fn.named(prefix) {
			f(fn.Name(), fn)
		}
	}
}

// named reports whether the name begins with a prefix.
func (f Func) named(prefix string) bool {
	at := uint64(f.word(4))
	return at < uint64(len(f.table.names)) && bytes.HasPrefix(f.table.names[at:], []byte(prefix))
}

// kind tells functions that the runtime treats specially (abi.FuncID).
func (f Func) kind() byte { return f.rec[40] }

// word returns a number of the record.
func (f Func) word(at int) uint32 { return binary.LittleEndian.Uint32(f.rec[at:]) }

// Name returns the name of the symbol, or "" if it is damaged.
func (f Func) Name() string { return text(f.table.names, uint64(f.word(4))) }

// text returns the text at an offset.
func text(p []byte, at uint64) string {
	if at >= uint64(len(p)) {
		return ""
	}
	p = p[at:min(uint64(len(p)), at+maxName)]
	if end := bytes.IndexByte(p, 0); end >= 0 {
		p = p[:end]
	}
	return string(p)
}

// Flags of functions (abi.FuncFlag).
const (
	flagTop     = 1 << iota // the stack ends here
	flagSPWrite             // it moves the stack pointer in ways that the table does not tell
)

// Top reports whether stacks end with this function.
func (f Func) Top() bool { return f.rec[41]&flagTop != 0 }

// Switches reports whether the function may change to another stack, so that the one that it
// was called on cannot be followed.
func (f Func) Switches() bool {
	return f.rec[41]&flagSPWrite != 0 && f.Name() != "runtime.cgocallback"
}

// Depth returns how many bytes the function has on the stack at pc, without its return address
// on machines that push one. It is false where that is not known.
func (f Func) Depth(pc uint64) (uint64, bool) {
	at := f.word(16)
	if at == 0 {
		return 0, false
	}
	n := f.value(at, pc)
	return uint64(uint32(max(n, 0))), n >= 0
}

// value decodes the value that holds at pc from a list of steps, or -1.
func (f Func) value(at uint32, pc uint64) int32 {
	p := f.table.steps
	if uint64(at) >= uint64(len(p)) {
		return -1
	}
	p = p[at:]
	end, n := f.Entry, int32(-1)
	for first := true; ; first = false {
		change, size := binary.Uvarint(p)
		if size <= 0 || change == 0 && !first {
			return -1
		}
		p = p[size:]
		length, size := binary.Uvarint(p)
		if size <= 0 || length > 1<<32 {
			return -1
		}
		p = p[size:]
		n += int32(uint32(change)>>1) ^ -int32(change&1)
		if end += length * f.table.quantum; pc < end {
			return n
		}
		if end > f.End {
			return -1
		}
	}
}

// Printed shortens the name of a symbol as the runtime does when it prints it: type arguments
// become [...].
func Printed(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}
