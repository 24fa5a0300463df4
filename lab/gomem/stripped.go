package gomem

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/redline-go/redline/lab/gomem/functab"
)

const (
	maxTable = 512 << 20 // bytes of the table of functions
	maxCode  = 64 << 10  // bytes of one function
	maxScan  = 64 << 20  // bytes of data in which the description of the module is looked for
)

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
	wanted := map[string]functab.Func{}
	for _, ws := range port.Witnesses {
		for _, w := range ws {
			wanted[w.Func] = functab.Func{}
		}
	}
	im.system = map[uint64]struct{}{}
	t.Each(prefix, func(name string, f functab.Func) {
		im.function(name, f.Entry)
		if _, ok := wanted[name]; ok {
			wanted[name] = f
		}
	})
	used := map[string][]uint64{}
	for name, f := range wanted {
		if used[name], err = im.addresses(f); err != nil {
			return fmt.Errorf("%w, build without -s: read the code of %s: %w", ErrStripped, name, err)
		}
	}
	apart := map[string]bool{}
	for _, v := range variables {
		apart[v.name] = v.apart
	}
	im.symbols = map[string]uint64{}
	for name, ws := range port.Witnesses {
		addr, ok := elect(ws, used)
		if !ok && apart[name] {
			continue
		}
		if !ok {
			return fmt.Errorf("%w, build without -s: the code of the runtime's functions does not agree where %s is", ErrStripped, name)
		}
		im.symbols[name] = addr
	}
	return nil
}

// functions finds the table of functions. Its addresses are those of the file, and what it
// reads later is read from the file.
func (im *image) functions(mem func([]byte, uint64) error, bias uint64) (*functab.Table, error) {
	data, addr, err := im.tableData()
	if err != nil {
		return nil, err
	}
	t, err := functab.New(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLayout, err)
	}
	text, gofunc, err := im.moduleData(t, addr, mem, bias)
	if err != nil {
		return nil, err
	}
	t.Place(text, gofunc, im.stored)
	return t, nil
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
		if i := functab.Search(data); i >= 0 {
			return data[i:], s.Addr + uint64(i), nil
		}
	}
	return nil, 0, fmt.Errorf("%w: no table of functions (.gopclntab) of Go 1.20 or later", ErrLayout)
}

// Where runtime.firstmoduledata, from Go 1.20 to Go 1.27, has the address of the first function,
// and where code and types begin. Where the functions' other data begin depends on the version.
const (
	moduleMinPC    = 160
	moduleText     = 176
	moduleTypes    = 296
	moduleGofunc   = 320
	moduleGofunc27 = 344
	moduleSize     = 512
)

// gofuncOf returns where the functions' other data begin, by the words of a module. Go 1.27 puts
// three lengths before: that of the types is between their begin and their end, where the earlier
// versions have the end, and after it the beginning of other data.
func gofuncOf(word func(at int) uint64) uint64 {
	if word(moduleTypes)+word(moduleTypes+8) <= word(moduleTypes+16) {
		return word(moduleGofunc27)
	}
	return word(moduleGofunc)
}

// moduleData finds runtime.firstmoduledata in the data of the process: it begins with the
// address of the table of functions. It says where the code of Go begins, and where the
// functions' other data do.
func (im *image) moduleData(t *functab.Table, addr uint64, mem func([]byte, uint64) error, bias uint64) (text, gofunc uint64, err error) {
	left := uint64(maxScan)
	for _, prog := range im.elf.Progs {
		if prog.Type != elf.PT_LOAD || prog.Flags&elf.PF_W == 0 {
			continue
		}
		const step = 1 << 20
		for at := uint64(0); at < prog.Filesz && left > 0; at += step {
			block := make([]byte, min(step+moduleSize, prog.Memsz-at))
			left -= min(left, step)
			if err := mem(block, prog.Vaddr+at); err != nil {
				return 0, 0, err
			}
			for i := 0; i+moduleSize <= len(block) && i < step; i += 8 {
				word := func(at int) uint64 { return binary.LittleEndian.Uint64(block[i+at:]) }
				if word(0) != addr+bias {
					continue
				}
				text, gofunc := word(moduleText)-bias, gofuncOf(word)-bias
				if im.executable(text) && word(moduleMinPC)-bias == text+t.Offset() {
					return text, gofunc, nil
				}
			}
		}
	}
	return 0, 0, fmt.Errorf("%w: runtime.firstmoduledata is not in the data", ErrLayout)
}

// stored reads from the file what the process has in its memory when it starts.
func (im *image) stored(p []byte, addr uint64) error {
	for _, prog := range im.elf.Progs {
		if prog.Type == elf.PT_LOAD && addr >= prog.Vaddr && addr < prog.Vaddr+prog.Memsz {
			clear(p)
			if _, err := prog.ReadAt(p, int64(addr-prog.Vaddr)); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
	}
	return errAddress
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

// addresses returns the addresses of variables that a function's code uses.
func (im *image) addresses(f functab.Func) ([]uint64, error) {
	if f.End <= f.Entry { // not in this binary: it casts no votes
		return nil, nil
	}
	code := make([]byte, min(f.End-f.Entry, maxCode))
	for _, p := range im.elf.Progs {
		if p.Type == elf.PT_LOAD && f.Entry >= p.Vaddr && f.Entry < p.Vaddr+p.Filesz {
			n, err := p.ReadAt(code, int64(f.Entry-p.Vaddr))
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
		operandsARM64(code, f.Entry, keep)
	} else {
		operandsAMD64(code, f.Entry, keep)
	}
	return addrs, nil
}
