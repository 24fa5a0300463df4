package symbols

import (
	"bytes"
	"compress/zlib"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	maxDebug = 256 << 20 // bytes of debugging information that is read, decompressed
	maxUnits = 100_000
)

// ErrNoLines says that a file has no debugging information.
var ErrNoLines = errors.New("the file has no debugging information (DWARF)")

// lineReader has the debugging information of a file, once it was asked for.
type lineReader struct {
	data *dwarf.Data
	err  error
	seen bool
	unit map[dwarf.Offset]*dwarf.LineReader
}

// Line returns source file and line of an address, by the debugging information of the file,
// which the first call reads: it takes as much memory as the file has of it, up to 256 MiB. The
// error is [ErrNoLines], [ErrTooLarge] or that the information is damaged. Go programs need
// none: [File.Lookup] has their lines.
func (f *File) Line(addr uint64) (file string, line int, err error) {
	defer func() {
		if r := recover(); r != nil { // debug/dwarf is not hardened against hostile files
			err = fmt.Errorf("%w: damaged debugging information: %v", ErrFormat, r)
		}
	}()
	l := &f.lines
	if !l.seen {
		l.seen, l.unit = true, map[dwarf.Offset]*dwarf.LineReader{}
		l.data, l.err = f.debug()
	}
	if l.err != nil {
		return "", 0, l.err
	}
	unit, err := l.data.Reader().SeekPC(addr)
	if err != nil {
		return "", 0, fmt.Errorf("find address %#x: %w", addr, err)
	}
	r, ok := l.unit[unit.Offset]
	if !ok {
		if len(l.unit) >= maxUnits {
			return "", 0, fmt.Errorf("lines of %d units: %w", len(l.unit), ErrTooLarge)
		}
		if r, err = l.data.LineReader(unit); err != nil {
			return "", 0, fmt.Errorf("read the lines: %w", err)
		}
		l.unit[unit.Offset] = r
	}
	if r == nil {
		return "", 0, ErrNoLines
	}
	var e dwarf.LineEntry
	if err := r.SeekPC(addr, &e); err != nil {
		return "", 0, fmt.Errorf("find address %#x: %w", addr, err)
	}
	if e.File == nil {
		return "", e.Line, nil
	}
	return e.File.Name, e.Line, nil
}

// debug reads the sections that lines need.
func (f *File) debug() (*dwarf.Data, error) {
	names := []string{"abbrev", "info", "str", "line", "ranges"}
	more := []string{"addr", "line_str", "str_offsets", "rnglists"}
	left := uint64(maxDebug)
	content := map[string][]byte{}
	for _, name := range append(names, more...) {
		s, ok := f.section(".debug_" + name)
		if !ok {
			continue
		}
		p, err := f.content(s, left)
		if err != nil {
			return nil, fmt.Errorf("read .debug_%s: %w", name, err)
		}
		content[name] = p
		left -= uint64(len(p))
	}
	if len(content["info"]) == 0 || len(content["line"]) == 0 {
		return nil, ErrNoLines
	}
	d, err := dwarf.New(content["abbrev"], nil, nil, content["info"], content["line"], nil, content["ranges"], content["str"])
	if err != nil {
		return nil, fmt.Errorf("read the debugging information: %w", err)
	}
	for _, name := range more {
		if err := d.AddSection(".debug_"+name, content[name]); err != nil {
			return nil, fmt.Errorf("read .debug_%s: %w", name, err)
		}
	}
	return d, nil
}

// content reads a section, and decompresses it if it is compressed (Elf64_Chdr).
func (f *File) content(s section, limit uint64) ([]byte, error) {
	if s.size > limit {
		return nil, fmt.Errorf("%d bytes: %w", s.size, ErrTooLarge)
	}
	p, err := f.bytes(s.off, s.size)
	if err != nil || s.flags&elf.SHF_COMPRESSED == 0 {
		return p, err
	}
	if len(p) < 24 || elf.CompressionType(binary.LittleEndian.Uint32(p)) != elf.COMPRESS_ZLIB {
		return nil, fmt.Errorf("compressed in another way than zlib: %w", errors.ErrUnsupported)
	}
	z, err := zlib.NewReader(bytes.NewReader(p[24:]))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if uint64(len(out)) > limit {
		return nil, fmt.Errorf("more than %d bytes: %w", limit, ErrTooLarge)
	}
	return out, err
}
