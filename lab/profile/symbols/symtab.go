package symbols

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	maxSymbols = 4 << 20
	symbolSize = 24 // Elf64_Sym
)

// function is a symbol of code. Its name is read when it is needed.
type function struct {
	addr, size uint64
	name       uint64 // offset in the file
	rank       uint8  // lower is better among names for the same address
}

// readSymbols reads .symtab and .dynsym. Names stay in the file.
func (f *File) readSymbols() error {
	var errs []error
	for _, s := range f.sections {
		if s.kind != elf.SHT_SYMTAB && s.kind != elf.SHT_DYNSYM {
			continue
		}
		if err := f.readTable(s); err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", s.name, err))
			if errors.Is(err, ErrTooLarge) {
				break
			}
		}
	}
	slices.SortFunc(f.funcs, func(a, b function) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.rank, b.rank), cmp.Compare(b.size, a.size))
	})
	f.funcs = slices.CompactFunc(f.funcs, func(a, b function) bool { return a.addr == b.addr })
	return errors.Join(errs...)
}

func (f *File) readTable(s section) error {
	if int(s.link) >= len(f.sections) {
		return fmt.Errorf("%w: it has no table of names", ErrFormat)
	}
	names := f.sections[s.link]
	block := make([]byte, symbolSize*2048)
	for at := uint64(0); at+symbolSize <= s.size; {
		n := min(uint64(len(block)), (s.size-at)/symbolSize*symbolSize)
		if err := f.scan(block[:n], s.off+at); err != nil {
			return err
		}
		for p := block[:n]; len(p) > 0; p = p[symbolSize:] {
			if fn, ok := parseSymbol(p, names); ok {
				f.funcs = append(f.funcs, fn)
			}
		}
		if len(f.funcs) > maxSymbols {
			f.funcs = f.funcs[:maxSymbols]
			return fmt.Errorf("more than %d functions: %w", maxSymbols, ErrTooLarge)
		}
		at += n
	}
	return nil
}

func parseSymbol(p []byte, names section) (function, bool) {
	kind, bind := elf.ST_TYPE(p[4]), elf.ST_BIND(p[4])
	name, addr := uint64(binary.LittleEndian.Uint32(p)), binary.LittleEndian.Uint64(p[8:])
	if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || name == 0 || name >= names.size || addr == 0 {
		return function{}, false
	}
	if binary.LittleEndian.Uint16(p[6:]) == uint16(elf.SHN_UNDEF) {
		return function{}, false
	}
	r := uint8(2)
	switch bind {
	case elf.STB_GLOBAL:
		r = 0
	case elf.STB_WEAK:
		r = 1
	}
	return function{addr: addr, size: binary.LittleEndian.Uint64(p[16:]), name: names.off + name, rank: r}, true
}

// symbol finds the symbol whose code has the address.
func (f *File) symbol(addr uint64) (Frame, bool) {
	i := sort.Search(len(f.funcs), func(i int) bool { return f.funcs[i].addr > addr })
	// A function may contain another, and an alias may have no size.
	for tries := 0; i > 0 && tries < 4; tries++ {
		i--
		fn := f.funcs[i]
		if fn.size == 0 && !f.code(addr) || fn.size > 0 && addr-fn.addr >= fn.size {
			continue
		}
		system := f.name(fn.name)
		if system == "" {
			continue
		}
		name := Demangle(system)
		if name == system {
			system = ""
		}
		return Frame{Name: name, System: system}, true
	}
	return Frame{}, false
}

// name reads a name at an offset of the file.
func (f *File) name(off uint64) string {
	for _, size := range []int{128, maxName} {
		p := make([]byte, size)
		n, err := f.r.ReadAt(p, int64(off))
		if err != nil && !errors.Is(err, io.EOF) {
			return ""
		}
		if name, _, whole := strings.Cut(string(p[:n]), "\x00"); whole || size == maxName {
			return name
		}
	}
	return ""
}

// Demangle returns a name of C++ or Rust as it is written in the source, without parameters.
// Other names are returned unchanged.
func Demangle(name string) (out string) {
	if !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") && !strings.HasPrefix(name, "__Z") || len(name) > 2048 {
		return name
	}
	defer func() {
		if recover() != nil { // the parser reads what anyone may write into a file
			out = name
		}
	}()
	const length = 11 // of the result: 2^11 bytes
	return demangle.Filter(name, demangle.NoParams, demangle.NoEnclosingParams, demangle.MaxLength(length))
}
