package gomem

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

const (
	maxTable     = 512 << 20 // bytes of the table of functions
	maxFunctions = 8 << 20
	maxCode      = 64 << 10 // bytes of one function
	maxScan      = 64 << 20 // bytes of data in which the description of the module is looked for
	maxName      = 128      // bytes of a function's name
)

// A table is the binary's table of functions, which tracebacks need and no linker flag
// removes (runtime/symtab.go, since Go 1.20).
type table struct {
	data  []byte
	addr  uint64
	text  uint64 // address to which those of functions are relative
	funcs int
	names int // offset of the names
	index int // offset of the entries
}

// A function is one of the runtime's: where its code is.
type function struct{ start, end uint64 }

// decodeSymbols finds the variables of the runtime in a binary without symbols: functions of
// the runtime are found by their names in the table of functions, and the addresses that their
// code uses by decoding it. Each known use of a variable by a function is a vote for where the
// variable is. mem reads the process at addresses of the file.
func (im *image) decodeSymbols(mem func(p []byte, addr uint64) error, bias uint64) (err error) {
	defer guard(&err)
	_, port, err := knownPort(im)
	if err != nil {
		return fmt.Errorf("%w, build without -s: %w", ErrStripped, err)
	}
	t, err := im.functions(mem, bias)
	if err != nil {
		return fmt.Errorf("%w, build without -s: find the functions: %w", ErrStripped, err)
	}
	wanted := map[string]function{}
	for _, ws := range port.Witnesses {
		for _, w := range ws {
			wanted[w.Func] = function{}
		}
	}
	im.system = map[uint64]struct{}{}
	t.each(func(name string, start, end uint64) {
		im.function(name, start)
		if _, ok := wanted[name]; ok {
			wanted[name] = function{start, end}
		}
	})
	used := map[string][]uint64{}
	for name, f := range wanted {
		if used[name], err = im.addresses(f); err != nil {
			return fmt.Errorf("%w, build without -s: read the code of %s: %w", ErrStripped, name, err)
		}
	}
	im.symbols = map[string]uint64{}
	for name, ws := range port.Witnesses {
		addr, ok := elect(ws, used)
		if !ok {
			return fmt.Errorf("%w, build without -s: the code of the runtime's functions does not agree where %s is", ErrStripped, name)
		}
		im.symbols[name] = addr
	}
	return nil
}

// functions finds the table of functions.
func (im *image) functions(mem func([]byte, uint64) error, bias uint64) (*table, error) {
	data, addr, err := im.tableData()
	if err != nil {
		return nil, err
	}
	t := &table{data: data, addr: addr}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8+8*i:]) }
	funcs, names, index := word(0), word(3), word(7)
	if funcs > maxFunctions || names > uint64(len(data)) || index > uint64(len(data)) || index+funcs*8+4 > uint64(len(data)) {
		return nil, fmt.Errorf("%w: .gopclntab is damaged", ErrLayout)
	}
	t.funcs, t.names, t.index = int(funcs), int(names), int(index)
	t.text, err = im.textStart(t, mem, bias)
	return t, err
}

// tableData returns the table of functions and its address. C linkers put it into a section
// with other data.
func (im *image) tableData() ([]byte, uint64, error) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro", ".rodata"} {
		s := im.elf.Section(name)
		if s == nil {
			continue
		}
		if s.Size > maxTable {
			return nil, 0, tooLarge(s.Name, s.Size, maxTable)
		}
		data, err := io.ReadAll(io.LimitReader(s.Open(), maxTable))
		if err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", name, err)
		}
		const head = 8 + 8*8
		for i := 0; i+head <= len(data); i += 8 {
			h := data[i:]
			if binary.LittleEndian.Uint32(h) == 0xfffffff1 && h[4] == 0 && h[5] == 0 && (h[6] == 1 || h[6] == 4) && h[7] == 8 {
				return h, s.Addr + uint64(i), nil
			}
		}
	}
	return nil, 0, fmt.Errorf("%w: no table of functions (.gopclntab) of Go 1.20 or later", ErrLayout)
}

// textStart finds runtime.firstmoduledata in the data of the process: it begins with the
// address of the table of functions. It says where the code of Go begins.
func (im *image) textStart(t *table, mem func([]byte, uint64) error, bias uint64) (uint64, error) {
	left := uint64(maxScan)
	for _, prog := range im.elf.Progs {
		if prog.Type != elf.PT_LOAD || prog.Flags&elf.PF_W == 0 {
			continue
		}
		const step, object = 1 << 20, 512
		for at := uint64(0); at < prog.Filesz && left > 0; at += step {
			block := make([]byte, min(step+object, prog.Memsz-at))
			left -= min(left, step)
			if err := mem(block, prog.Vaddr+at); err != nil {
				return 0, err
			}
			for i := 0; i+object <= len(block) && i < step; i += 8 {
				if binary.LittleEndian.Uint64(block[i:]) != t.addr+bias {
					continue
				}
				minpc := binary.LittleEndian.Uint64(block[i+160:]) - bias
				text := binary.LittleEndian.Uint64(block[i+176:]) - bias
				if im.executable(text) && minpc == text+uint64(t.entry(0)) {
					return text, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("%w: runtime.firstmoduledata is not in the data", ErrLayout)
}

// executable reports whether code is loaded at an address.
func (im *image) executable(addr uint64) bool {
	for _, p := range im.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && addr >= p.Vaddr && addr < p.Vaddr+p.Filesz {
			return true
		}
	}
	return false
}

// writable reports whether variables are at an address.
func (im *image) writable(addr uint64) bool {
	for _, p := range im.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && addr >= p.Vaddr && addr < p.Vaddr+p.Memsz {
			return true
		}
	}
	return false
}

// entry returns where function i begins, relative to the text.
func (t *table) entry(i int) uint32 { return binary.LittleEndian.Uint32(t.data[t.index+8*i:]) }

// each calls f for each function of package runtime.
func (t *table) each(f func(name string, start, end uint64)) {
	for i := range t.funcs {
		info := t.index + int(binary.LittleEndian.Uint32(t.data[t.index+8*i+4:]))
		if info+8 > len(t.data) {
			continue
		}
		at := t.names + int(binary.LittleEndian.Uint32(t.data[info+4:]))
		if at >= len(t.data) {
			continue
		}
		name := t.data[at:min(len(t.data), at+maxName)]
		const prefix = "runtime."
		if len(name) < len(prefix) || string(name[:len(prefix)]) != prefix {
			continue
		}
		text, _, _ := strings.Cut(string(name), "\x00")
		f(text, t.text+uint64(t.entry(i)), t.text+uint64(t.entry(i+1)))
	}
}

// addresses returns the addresses of variables that a function's code uses.
func (im *image) addresses(f function) ([]uint64, error) {
	if f.end <= f.start { // not in this binary: it casts no votes
		return nil, nil
	}
	code := make([]byte, min(f.end-f.start, maxCode))
	for _, p := range im.elf.Progs {
		if p.Type == elf.PT_LOAD && f.start >= p.Vaddr && f.start < p.Vaddr+p.Filesz {
			n, err := p.ReadAt(code, int64(f.start-p.Vaddr))
			if err != nil && n == 0 {
				return nil, err
			}
			code = code[:n]
			break
		}
	}
	var addrs []uint64
	keep := func(addr uint64) {
		if im.writable(addr) {
			addrs = append(addrs, addr)
		}
	}
	if im.arch == "arm64" {
		operandsARM64(code, f.start, keep)
	} else {
		operandsAMD64(code, f.start, keep)
	}
	return addrs, nil
}
