package symbols

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"sort"
)

const (
	maxGoTable = 256 << 20 // bytes of .gopclntab
	maxSteps   = 1 << 20   // of a table of program counters, for one address
	maxWork    = 1 << 30   // steps for all addresses
	maxInlined = 128       // calls at one address
	goHead     = 8 + 8*8   // bytes of the table's header
)

// A goTable is the table of functions that tracebacks of Go need (runtime/symtab.go). No
// linker flag removes it.
type goTable struct {
	file    *File
	data    []byte
	addr    uint64 // of data
	text    uint64 // address to which those of functions are relative
	end     uint64 // of the code of Go
	gofunc  uint64 // address of inline trees, 0 if it is not known
	quantum uint64 // bytes of the smallest instruction
	funcs   int
	old     bool // written by Go 1.18 or 1.19
	steps   int  // that were made for all addresses
	// Offsets in data.
	names, units, files, pcs, index uint64
}

// readGo finds the table of Go, if there is one.
func (f *File) readGo() error {
	t, err := f.findGo()
	if t == nil || err != nil {
		return err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(t.data[8+8*i:]) }
	size, funcs := uint64(len(t.data)), word(0)
	t.names, t.units, t.files, t.pcs, t.index = word(3), word(4), word(5), word(6), word(7)
	if funcs == 0 || funcs > size/8 || max(t.names, t.units, t.files, t.pcs, t.index) > size || t.index+funcs*8+4 > size {
		return fmt.Errorf("%w: .gopclntab is damaged", ErrFormat)
	}
	t.funcs, t.quantum = int(funcs), uint64(t.data[6])
	t.old = t.data[0] == 0xf0
	if err := t.locate(word(2)); err != nil {
		return err
	}
	t.end = t.text + uint64(t.entry(t.funcs))
	f.golang = t
	return nil
}

// findGo returns the table's bytes. C linkers put it into a section with other data.
func (f *File) findGo() (*goTable, error) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro", ".rodata"} {
		s, ok := f.section(name)
		if !ok {
			continue
		}
		at, ok, err := f.search(s.off, s.size, 8, goHead, isGoHead)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if !ok {
			continue
		}
		if s.size-at > maxGoTable {
			return nil, fmt.Errorf("%s has %d bytes: %w", name, s.size-at, ErrTooLarge)
		}
		data, err := f.bytes(s.off+at, s.size-at)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		return &goTable{file: f, data: data, addr: s.addr + at}, nil
	}
	return nil, nil
}

// isGoHead recognizes the header as Go writes it since version 1.18.
func isGoHead(h []byte) bool {
	magic := binary.LittleEndian.Uint32(h)
	return (magic == 0xfffffff1 || magic == 0xfffffff0) && h[4] == 0 && h[5] == 0 && (h[6] == 1 || h[6] == 4) && h[7] == 8
}

// search looks at every step bytes of a part of the file for one that is accepted, and returns
// its distance from the start. Each window has size bytes.
func (f *File) search(off, length, step, size uint64, accept func([]byte) bool) (uint64, bool, error) {
	const block = 1 << 20
	buf := make([]byte, block+size)
	for at := uint64(0); at+size <= length && at < maxGoTable; at += block {
		p := buf[:min(block+size, length-at)]
		if err := f.scan(p, off+at); err != nil {
			return 0, false, err
		}
		for i := uint64(0); i+size <= uint64(len(p)) && i < block; i += step {
			if accept(p[i:]) {
				return at + i, true, nil
			}
		}
	}
	return 0, false, nil
}

// Fields of runtime.moduledata, in bytes from its start, since Go 1.20. Those of Go 1.18 have other
// places from moduleTypes on, and those of Go 1.27 from the word after it.
const (
	moduleMin      = 160
	moduleText     = 176
	moduleTypes    = 296
	moduleGofunc   = 320
	moduleGofunc18 = 304
	moduleGofunc27 = 344
	moduleSize     = moduleGofunc27 + 8
)

// gofuncOf returns the address of inline trees, by the words of a module. Go 1.27 puts three lengths
// before it: that of the types is between their begin and their end, where the earlier versions have
// the end, and after it the beginning of other data. A length is no address: relocations lack it.
func (t *goTable) gofuncOf(word func(at uint64) uint64) uint64 {
	switch {
	case t.old:
		return word(moduleGofunc18)
	case word(moduleTypes)+word(moduleTypes+8) <= word(moduleTypes+16):
		return word(moduleGofunc27)
	}
	return word(moduleGofunc)
}

// locate finds where the code of Go begins. runtime.firstmoduledata says so: it begins with the
// address of the table.
func (t *goTable) locate(header uint64) error {
	if ok, err := t.inData(); ok || err != nil {
		return err
	}
	if ok, err := t.inRelocations(); ok || err != nil {
		return err
	}
	// Up to Go 1.25 the header has it, unless the program is relocated.
	if t.file.code(header) {
		t.text = header
		return nil
	}
	if s, ok := t.file.section(".text"); ok {
		t.text = s.addr
		return nil
	}
	return fmt.Errorf("%w: runtime.firstmoduledata is not found", ErrFormat)
}

// plausible reports whether values are those of a module.
func (t *goTable) plausible(text, least uint64) bool {
	return t.file.code(text) && least == text+uint64(t.entry(0))
}

// inData looks for the module in the data of a program that is not relocated.
func (t *goTable) inData() (bool, error) {
	for _, s := range t.file.loads {
		if s.flags&elf.PF_X != 0 {
			continue
		}
		_, ok, err := t.file.search(s.off, s.filesz, 8, moduleSize, func(p []byte) bool {
			if binary.LittleEndian.Uint64(p) != t.addr {
				return false
			}
			word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(p[at:]) }
			if !t.plausible(word(moduleText), word(moduleMin)) {
				return false
			}
			t.text, t.gofunc = word(moduleText), t.gofuncOf(word)
			return true
		})
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// inRelocations looks for the module among the relocations of a program whose pointers are
// written by the dynamic linker (R_X86_64_RELATIVE, R_AARCH64_RELATIVE).
func (t *goTable) inRelocations() (bool, error) {
	const size = 24 // Elf64_Rela
	each := func(visit func(off, addend uint64)) error {
		for _, s := range t.file.sections {
			if s.kind != elf.SHT_RELA || s.flags&elf.SHF_ALLOC == 0 {
				continue
			}
			_, _, err := t.file.search(s.off, s.size/size*size, size, size, func(p []byte) bool {
				switch binary.LittleEndian.Uint64(p[8:]) {
				case uint64(elf.R_X86_64_RELATIVE), uint64(elf.R_AARCH64_RELATIVE):
					visit(binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[16:]))
				}
				return false
			})
			if err != nil {
				return fmt.Errorf("read %s: %w", s.name, err)
			}
		}
		return nil
	}
	found := map[uint64]map[uint64]uint64{}
	err := each(func(off, addend uint64) {
		if addend == t.addr && len(found) < 16 {
			found[off] = map[uint64]uint64{}
		}
	})
	if err != nil || len(found) == 0 {
		return false, err
	}
	err = each(func(off, addend uint64) {
		for start, fields := range found {
			if d := off - start; d < moduleSize {
				fields[d] = addend
			}
		}
	})
	for _, fields := range found {
		if t.plausible(fields[moduleText], fields[moduleMin]) {
			t.text, t.gofunc = fields[moduleText], t.gofuncOf(func(at uint64) uint64 { return fields[at] })
			return true, err
		}
	}
	return false, err
}

// entry returns where function i begins, relative to the text.
func (t *goTable) entry(i int) uint32 {
	return binary.LittleEndian.Uint32(t.data[t.index+8*uint64(i):])
}

// find returns the offset in data of the description of the function at an address (_func in
// runtime/runtime2.go), and the function's entry.
func (t *goTable) find(addr uint64) (info, entry uint64, ok bool) {
	if addr < t.text || addr >= t.end {
		return 0, 0, false
	}
	rel := addr - t.text
	i := sort.Search(t.funcs, func(i int) bool { return uint64(t.entry(i)) > rel }) - 1
	if i < 0 {
		return 0, 0, false
	}
	info = t.index + uint64(binary.LittleEndian.Uint32(t.data[t.index+8*uint64(i)+4:]))
	return info, t.text + uint64(t.entry(i)), info+44 <= uint64(len(t.data))
}

// word returns 32 bits at an offset in data, 0 outside.
func (t *goTable) word(at uint64) uint32 {
	if at+4 > uint64(len(t.data)) || at > 1<<40 {
		return 0
	}
	return binary.LittleEndian.Uint32(t.data[at:])
}
