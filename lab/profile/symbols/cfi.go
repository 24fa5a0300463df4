package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

const (
	maxHeader  = 64 << 20 // bytes of .eh_frame_hdr
	maxEntry   = 64 << 10 // bytes of one description
	maxCached  = 100_000  // addresses
	ptEhFrame  = 0x6474e550
	registerBP = 6 // in the numbering of DWARF for amd64
	registerSP = 7
	registerRA = 16
)

// A Step says how to get from a function to its caller on amd64. The return address is
// below the canonical frame address (CFA), which is above a register.
type Step struct {
	FromBP bool  // the CFA is relative to BP, otherwise to SP
	CFA    int64 // bytes above the register
	Return int64 // of the return address, relative to the CFA
	Saved  bool  // the caller's BP was saved
	BP     int64 // where, relative to the CFA
}

// callFrames is .eh_frame_hdr: a sorted table of functions and the addresses of their
// descriptions in .eh_frame (Linux Standard Base, 10.6.2).
type callFrames struct {
	base  uint64 // address of the header
	table []byte // of pairs of 32 bits, relative to base
	known map[uint64]result
	work  uint64 // bytes of descriptions that were carried out
}

// result is what is known of an address.
type result struct {
	step  Step
	ok    bool
	outer bool // there is no caller
}

var errFrames = fmt.Errorf("%w: .eh_frame is damaged", ErrFormat)

// readFrames reads the table, if there is one.
func (f *File) readFrames(s segment) error {
	if s.filesz > maxHeader {
		return fmt.Errorf(".eh_frame_hdr has %d bytes: %w", s.filesz, ErrTooLarge)
	}
	p, err := f.bytes(s.off, s.filesz)
	if err != nil {
		return fmt.Errorf("read .eh_frame_hdr: %w", err)
	}
	// Version 1; the count has 4 bytes, the table is signed, of 4 bytes, relative to itself.
	if len(p) < 12 || p[0] != 1 || p[2] != 0x03 || p[3] != 0x3b {
		return fmt.Errorf("read .eh_frame_hdr: an encoding that no linker uses: %w", errors.ErrUnsupported)
	}
	n := uint64(binary.LittleEndian.Uint32(p[8:]))
	p = p[12:]
	f.frames = &callFrames{base: s.addr, table: p[:8*min(n, uint64(len(p)/8))], known: map[uint64]result{}}
	return nil
}

// Step returns how to get from the function at an address to its caller, by the tables for
// exceptions that compilers write whether the code has frame pointers or not. For an address
// to which a call returns, the caller subtracts one. It returns false where it is not known,
// and where there is no caller.
func (f *File) Step(addr uint64) (Step, bool) {
	r := f.result(addr)
	return r.step, r.ok
}

// Outermost reports whether the tables say that the function at an address has no caller.
func (f *File) Outermost(addr uint64) bool { return f.result(addr).outer }

func (f *File) result(addr uint64) result {
	if f.frames == nil || f.machine != elf.EM_X86_64 {
		return result{}
	}
	r, ok := f.frames.known[addr]
	if ok {
		return r
	}
	if f.frames.work > maxScanned {
		return result{}
	}
	m, err := f.frames.step(f, addr)
	if err == nil && !m.unexpected && (m.register == registerBP || m.register == registerSP) {
		r.step = Step{FromBP: m.register == registerBP, CFA: m.offset, Return: m.ret, Saved: m.saved, BP: m.bp}
		r.ok, r.outer = m.known, m.none
	}
	if len(f.frames.known) < maxCached {
		f.frames.known[addr] = r
	}
	return r
}

func (c *callFrames) step(f *File, addr uint64) (*machine, error) {
	at := func(i int) uint64 {
		return c.base + uint64(int64(int32(binary.LittleEndian.Uint32(c.table[8*i:]))))
	}
	i := sort.Search(len(c.table)/8, func(i int) bool { return at(i) > addr }) - 1
	if i < 0 {
		return nil, errFrames
	}
	fde := c.base + uint64(int64(int32(binary.LittleEndian.Uint32(c.table[8*i+4:]))))
	body, from, err := f.entry(fde)
	if err != nil || from.u32() == 0 {
		return nil, errors.Join(err, errFrames)
	}
	cie := body - uint64(binary.LittleEndian.Uint32(from.all))
	x, err := f.common(cie)
	if err != nil {
		return nil, err
	}
	from.addr = body
	start := from.pointer(x.encoding)
	size := from.pointer(x.encoding & 0x0f)
	if from.bad || addr < start || addr-start >= size {
		return nil, errFrames
	}
	if x.augmented {
		from.take(from.uleb())
	}
	x.program.run(x, 0, ^uint64(0))
	x.initial = x.rules
	from.run(x, start, addr)
	if from.bad || x.program.bad {
		return nil, errFrames
	}
	return x, nil
}

// entry reads a description at an address, without its length. It returns where it begins.
func (f *File) entry(addr uint64) (uint64, *frameReader, error) {
	off, ok := f.offset(addr)
	var head [4]byte
	if !ok || f.read(head[:], off) != nil {
		return 0, nil, errFrames
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size < 8 || size > maxEntry {
		return 0, nil, errFrames
	}
	f.frames.work += uint64(size)
	p, err := f.bytes(off+4, uint64(size))
	if err != nil {
		return 0, nil, err
	}
	return addr + 4, &frameReader{all: p, addr: addr + 4}, nil
}

// rules are those of one place in a function.
type rules struct {
	register   uint64 // that the CFA is relative to
	offset     int64
	ret, bp    int64 // relative to the CFA
	known      bool  // ret is
	none       bool  // there is no caller
	saved      bool  // bp is
	unexpected bool  // a rule that is not followed here
}

// machine carries out the instructions of descriptions (DWARF 5, 6.4.2).
type machine struct {
	rules
	initial   rules
	stack     []rules
	program   *frameReader // of the common part
	code      uint64       // factor of addresses
	data      int64        // factor of offsets
	encoding  byte         // of addresses
	augmented bool
}

// common reads what several descriptions share.
func (f *File) common(addr uint64) (*machine, error) {
	_, r, err := f.entry(addr)
	if err != nil {
		return nil, err
	}
	m := &machine{}
	id, version := r.u32(), r.byte()
	if id != 0 || version != 1 && version != 3 {
		return nil, errFrames
	}
	augmentation := r.text()
	m.code, m.data = r.uleb(), r.sleb()
	if ra := r.uleb(); ra != registerRA {
		return nil, errFrames
	}
	for _, c := range augmentation {
		switch c {
		case 'z':
			m.augmented = true
			r.uleb()
		case 'R':
			m.encoding = r.byte()
		case 'P':
			r.pointer(r.byte())
		case 'L':
			r.byte()
		case 'S': // of a signal: what it interrupted is elsewhere
		default:
			return nil, errFrames
		}
	}
	m.program = r
	if r.bad {
		return nil, errFrames
	}
	return m, nil
}

// set notes where a register was saved.
func (m *machine) set(register uint64, at int64, saved bool) {
	switch register {
	case registerRA:
		m.ret, m.known, m.none = at, saved, !saved
	case registerBP:
		m.bp, m.saved = at, saved
	}
}

// restore returns a register to the common rule.
func (m *machine) restore(register uint64) {
	switch register {
	case registerRA:
		m.ret, m.known, m.none = m.initial.ret, m.initial.known, m.initial.none
	case registerBP:
		m.bp, m.saved = m.initial.bp, m.initial.saved
	}
}
