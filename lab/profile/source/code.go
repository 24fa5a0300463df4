package source

import (
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile/symbols"
)

const (
	largestBinary = 4 << 30   // bytes of a file with code
	largestCode   = 256 << 10 // bytes of a function
	largestTable  = 512 << 20 // bytes of a section that is read
)

// errNoSymbol is the error for code without a name.
var errNoSymbol = errors.New("the file has no function there")

// binary is a file with code.
type binary struct {
	file    *elf.File
	close   func() error
	symbols []symbol     // by address
	table   *gosym.Table // of a Go program; nil: it has none, or it is of an unknown version
}

type symbol struct {
	name       string
	start, end uint64
}

// openBinary reads the symbols of a file. The caller must call close.
func openBinary(path string) (b *binary, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestBinary {
		return nil, fmt.Errorf("%s is not a program", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	file, err := elf.NewFile(in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	b = &binary{file: file, close: in.Close}
	b.readSymbols()
	b.readTable(in)
	// A stripped program with code in C still has dynamic symbols, but none of Go.
	if file.Section(".symtab") == nil && b.table != nil {
		for i := range b.table.Funcs {
			f := &b.table.Funcs[i]
			b.symbols = append(b.symbols, symbol{f.Name, f.Entry, f.End})
		}
	}
	if len(b.symbols) == 0 {
		return nil, fmt.Errorf("%s has no symbols", path)
	}
	slices.SortFunc(b.symbols, func(x, y symbol) int {
		switch {
		case x.start < y.start:
			return -1
		case x.start > y.start:
			return 1
		}
		return 0
	})
	return b, nil
}

// readSymbols reads the functions of both symbol tables.
func (b *binary) readSymbols() {
	for _, section := range b.file.Sections {
		if (section.Type == elf.SHT_SYMTAB || section.Type == elf.SHT_DYNSYM) && section.Size > largestTable {
			return
		}
	}
	for _, read := range []func() ([]elf.Symbol, error){b.file.Symbols, b.file.DynamicSymbols} {
		list, err := read()
		if err != nil {
			continue // there is no such table
		}
		for _, s := range list {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Value+s.Size > s.Value {
				b.symbols = append(b.symbols, symbol{s.Name, s.Value, s.Value + s.Size})
			}
		}
	}
}

// readTable reads the table of functions and lines of a Go program.
func (b *binary) readTable(in io.ReaderAt) {
	lines := b.file.Section(".gopclntab")
	if lines == nil || lines.Size > largestTable {
		return
	}
	// Code in C may come before Go's in its section.
	program, err := symbols.Open(in)
	if err != nil {
		return
	}
	text, ok := program.GoText()
	if !ok {
		return
	}
	data, err := lines.Data()
	if err != nil {
		return
	}
	defer func() { // the decoder of the standard library panics at some damaged tables
		if recover() != nil {
			b.table = nil
		}
	}()
	if table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text)); err == nil {
		b.table = table
	}
}

// line returns the source of an address, "" if it is unknown.
func (b *binary) line(pc uint64) (at string, line int) {
	if b.table == nil {
		return "", 0
	}
	defer func() {
		if recover() != nil {
			at = ""
		}
	}()
	at, line, _ = b.table.PCToLine(pc)
	return at, line
}

// address converts an address of the process to one of the file.
func (b *binary) address(m *pprof.Mapping, addr uint64) uint64 {
	if m == nil || m.Limit <= m.Start || addr < m.Start || addr >= m.Limit || b.file.Type == elf.ET_EXEC {
		return addr
	}
	offset := addr - m.Start + m.Offset
	for _, p := range b.file.Progs {
		if p.Type == elf.PT_LOAD && offset >= p.Off && offset-p.Off < p.Filesz {
			return p.Vaddr + offset - p.Off
		}
	}
	return addr
}

// function returns the function that has the code at an address.
func (b *binary) function(pc uint64) (symbol, error) {
	i := sort.Search(len(b.symbols), func(i int) bool { return b.symbols[i].start > pc })
	for i--; i >= 0 && i < len(b.symbols); i-- {
		if s := b.symbols[i]; pc < s.end {
			return s, nil
		} else if pc-s.start > largestCode {
			break
		}
	}
	return symbol{}, errNoSymbol
}

// name returns the name of the function at an address, with its start, for operands.
func (b *binary) name(pc uint64) (string, uint64) {
	if s, err := b.function(pc); err == nil {
		return s.name, s.start
	}
	return "", 0
}

// code returns the bytes of a function.
func (b *binary) code(s symbol) ([]byte, error) {
	size := s.end - s.start
	if size > largestCode {
		return nil, fmt.Errorf("its code has %d bytes, and only %d are shown", size, largestCode)
	}
	for _, p := range b.file.Progs {
		if p.Type == elf.PT_LOAD && s.start >= p.Vaddr && s.start-p.Vaddr < p.Filesz && size <= p.Filesz-(s.start-p.Vaddr) {
			code := make([]byte, size)
			if _, err := p.ReadAt(code, int64(s.start-p.Vaddr)); err != nil && !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("read its code: %w", err)
			}
			return code, nil
		}
	}
	return nil, errors.New("its code is not in the file")
}
