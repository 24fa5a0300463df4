package symbols

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxPrograms = 512
	maxSections = 65_535
	maxHeadings = 4 << 20 // bytes of the names of sections
	maxNote     = 64 << 10
	maxScanned  = 1 << 30 // bytes of tables that are looked through, of all together
)

// A File is an ELF file whose functions are known. It may be used by one goroutine at a time.
type File struct {
	r        io.ReaderAt
	machine  elf.Machine
	id       string
	loads    []segment
	sections []section
	funcs    []function
	golang   *goTable
	notes    []error
	lines    lineReader
	frames   *callFrames
	scanned  uint64 // bytes
}

// segment is a PT_LOAD.
type segment struct {
	flags                   elf.ProgFlag
	off, addr, filesz, size uint64
}

// section is a section's header.
type section struct {
	name            string
	kind            elf.SectionType
	flags           elf.SectionFlag
	addr, off, size uint64
	link            uint32
}

// Open reads the tables of an ELF file. It reads from r as long as the file is used; the caller
// closes it. The errors are [ErrFormat], [ErrTooLarge] and those of r. Tables that cannot be
// read are left out, see [File.Problems].
func Open(r io.ReaderAt) (*File, error) {
	var head [64]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, ErrFormat
		}
		return nil, fmt.Errorf("read the header: %w", err)
	}
	if string(head[:4]) != elf.ELFMAG || elf.Class(head[4]) != elf.ELFCLASS64 || elf.Data(head[5]) != elf.ELFDATA2LSB {
		return nil, ErrFormat
	}
	f := &File{r: r, machine: elf.Machine(binary.LittleEndian.Uint16(head[18:]))}
	if err := f.readPrograms(head[:]); err != nil {
		return nil, err
	}
	// A file without sections is still mapped, and may be a Go program of which little is known.
	f.note(f.readSections(head[:]))
	f.note(f.readSymbols())
	f.note(f.readGo())
	if f.id == "" {
		f.readIDs()
	}
	return f, nil
}

func (f *File) note(err error) {
	if err != nil {
		f.notes = append(f.notes, err)
	}
}

// Problems returns why parts of the file are not known.
func (f *File) Problems() error { return errors.Join(f.notes...) }

// BuildID returns the build id in hexadecimal digits, as the linker wrote it into a note; for
// Go programs without one, the id that Go writes. It is empty if there is none.
func (f *File) BuildID() string { return f.id }

// Go reports whether the file has the table of functions of Go.
func (f *File) Go() bool { return f.golang != nil }

// GoText returns the address to which those in the function table of a Go program are relative;
// false if the program has no such table.
func (f *File) GoText() (addr uint64, ok bool) {
	if f.golang == nil {
		return 0, false
	}
	return f.golang.text, true
}

// Empty reports whether no functions are known.
func (f *File) Empty() bool { return f.golang == nil && len(f.funcs) == 0 }

// Address returns where the linker put the byte at an offset of the file.
func (f *File) Address(offset uint64) (uint64, bool) {
	for _, s := range f.loads {
		if offset >= s.off && offset-s.off < s.filesz {
			return offset - s.off + s.addr, true
		}
	}
	// The pages of a segment are mapped as a whole, with what precedes it in the file.
	const page = 4095
	for _, s := range f.loads {
		if start := s.off &^ page; offset >= start && offset-start < s.filesz+page && s.flags&elf.PF_X != 0 {
			return offset - s.off + s.addr, true
		}
	}
	return 0, false
}

// Lookup returns the functions at an address of the file, the innermost first. For the address
// to which a call returns, the caller subtracts one. It returns nil if there is none.
func (f *File) Lookup(addr uint64) []Frame {
	if f.golang != nil {
		if frames := f.golang.lookup(addr); frames != nil {
			return frames
		}
	}
	if frame, ok := f.symbol(addr); ok {
		return []Frame{frame}
	}
	return nil
}

// Depth returns for an address in a function of Go how far above the stack pointer the return
// address is, in bytes. It is what a function without a frame needs to be unwound.
func (f *File) Depth(addr uint64) (int64, bool) {
	if f.golang == nil {
		return 0, false
	}
	return f.golang.depth(addr)
}

func (f *File) readPrograms(head []byte) error {
	off, size, n := binary.LittleEndian.Uint64(head[32:]), binary.LittleEndian.Uint16(head[54:]), binary.LittleEndian.Uint16(head[56:])
	if n > maxPrograms {
		return fmt.Errorf("%d program headers: %w", n, ErrTooLarge)
	}
	if n > 0 && size < 56 {
		return fmt.Errorf("%w: program headers of %d bytes", ErrFormat, size)
	}
	for i := range uint64(n) {
		var p [56]byte
		if err := f.read(p[:], off+i*uint64(size)); err != nil {
			return fmt.Errorf("read program header %d: %w", i, err)
		}
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(p[at:]) }
		s := segment{
			flags: elf.ProgFlag(binary.LittleEndian.Uint32(p[4:])),
			off:   word(8), addr: word(16), filesz: word(32), size: word(40),
		}
		switch elf.ProgType(binary.LittleEndian.Uint32(p[:])) {
		case elf.PT_LOAD:
			f.loads = append(f.loads, s)
		case elf.PT_NOTE:
			if f.id == "" {
				f.id = f.gnuID(s.off, s.filesz)
			}
		case ptEhFrame:
			if f.frames == nil {
				f.note(f.readFrames(s))
			}
		}
	}
	return nil
}

func (f *File) readSections(head []byte) error {
	off, size := binary.LittleEndian.Uint64(head[40:]), binary.LittleEndian.Uint16(head[58:])
	n, names := binary.LittleEndian.Uint16(head[60:]), binary.LittleEndian.Uint16(head[62:])
	if n == 0 || off == 0 {
		return nil
	}
	if size < 64 || names >= n {
		return fmt.Errorf("%w: damaged section headers", ErrFormat)
	}
	list, at := make([]section, 0, min(n, 256)), make([]uint32, 0, min(n, 256))
	for i := range uint64(n) {
		var p [64]byte
		if err := f.read(p[:], off+i*uint64(size)); err != nil {
			return fmt.Errorf("read section header %d: %w", i, err)
		}
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(p[at:]) }
		at = append(at, binary.LittleEndian.Uint32(p[:]))
		list = append(list, section{
			kind: elf.SectionType(binary.LittleEndian.Uint32(p[4:])), flags: elf.SectionFlag(word(8)),
			addr: word(16), off: word(24), size: word(32), link: binary.LittleEndian.Uint32(p[40:]),
		})
	}
	if list[names].size > maxHeadings {
		return fmt.Errorf("names of sections of %d bytes: %w", list[names].size, ErrTooLarge)
	}
	text, err := f.bytes(list[names].off, list[names].size)
	if err != nil {
		return fmt.Errorf("read the names of sections: %w", err)
	}
	for i := range list {
		list[i].name = cstring(text, uint64(at[i]), 128)
	}
	f.sections = list
	return nil
}

// section returns the first section of a name that has content.
func (f *File) section(name string) (section, bool) {
	for _, s := range f.sections {
		if s.name == name && s.kind != elf.SHT_NOBITS {
			return s, true
		}
	}
	return section{}, false
}

// gnuID finds NT_GNU_BUILD_ID among notes.
func (f *File) gnuID(off, size uint64) string {
	return hex.EncodeToString(f.findNote(off, size, "GNU\x00", 3))
}

// readIDs finds the build ids of files without a segment for it.
func (f *File) readIDs() {
	if s, ok := f.section(".note.gnu.build-id"); ok {
		f.id = f.gnuID(s.off, s.size)
	}
	if s, ok := f.section(".note.go.buildid"); ok && f.id == "" {
		f.id = hex.EncodeToString(f.findNote(s.off, s.size, "Go\x00\x00", 4))
	}
}

func (f *File) findNote(off, size uint64, owner string, kind uint32) []byte {
	p, err := f.bytes(off, min(size, maxNote))
	if err != nil {
		return nil
	}
	for len(p) >= 12 {
		name, desc := uint64(binary.LittleEndian.Uint32(p)), uint64(binary.LittleEndian.Uint32(p[4:]))
		found := binary.LittleEndian.Uint32(p[8:]) == kind
		start := 12 + (name+3)&^3
		end := start + (desc+3)&^3
		if start+desc > uint64(len(p)) {
			return nil
		}
		if found && desc <= 256 && string(p[12:12+name]) == owner {
			return p[start : start+desc]
		}
		p = p[min(end, uint64(len(p))):]
	}
	return nil
}

// read fills p from an offset.
func (f *File) read(p []byte, off uint64) error {
	if off > 1<<62 {
		return fmt.Errorf("%w: offset %#x", ErrFormat, off)
	}
	n, err := f.r.ReadAt(p, int64(off))
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// scan is [File.read] for tables that are looked through: their sum is limited, since a file may
// have many that overlap.
func (f *File) scan(p []byte, off uint64) error {
	if f.scanned += uint64(len(p)); f.scanned > maxScanned {
		return fmt.Errorf("tables of more than %d bytes: %w", maxScanned, ErrTooLarge)
	}
	return f.read(p, off)
}

// bytes reads a part of the file. Memory grows with what the file has, not with what its
// headers say.
func (f *File) bytes(off, size uint64) ([]byte, error) {
	const block = 1 << 20
	out := make([]byte, 0, min(size, block))
	for size > 0 {
		n := min(size, block)
		at := len(out)
		out = append(out, make([]byte, n)...)
		if err := f.read(out[at:], off); err != nil {
			return nil, err
		}
		off, size = off+n, size-n
	}
	return out, nil
}

// offset returns where in the file the content of an address is.
func (f *File) offset(addr uint64) (uint64, bool) {
	for _, s := range f.loads {
		if addr >= s.addr && addr-s.addr < s.filesz {
			return addr - s.addr + s.off, true
		}
	}
	return 0, false
}

// code reports whether an address is in an executable segment.
func (f *File) code(addr uint64) bool {
	for _, s := range f.loads {
		if s.flags&elf.PF_X != 0 && addr >= s.addr && addr-s.addr < s.size {
			return true
		}
	}
	return false
}

// cstring returns the text at an offset up to its zero byte, or to the limit.
func cstring(p []byte, at, limit uint64) string {
	if at >= uint64(len(p)) {
		return ""
	}
	s, _, _ := strings.Cut(string(p[at:min(uint64(len(p)), at+limit)]), "\x00")
	return s
}
