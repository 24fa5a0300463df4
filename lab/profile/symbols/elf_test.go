package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// small builds an ELF file: one segment of code at 0x401000, and a table of symbols.
func small() []byte {
	put := binary.LittleEndian
	names := "\x00.symtab\x00.strtab\x00.shstrtab\x00"
	strs := "\x00work\x00_ZN3app5Queue4pushEi\x00alias\x00"
	const programs, sections, symtab = 64, 64 + 2*56, 64 + 2*56 + 4*64
	strtab := symtab + 5*24
	shstr := strtab + len(strs)
	note := (shstr + len(names) + 3) &^ 3
	p := make([]byte, 0x1000+64)
	copy(p, "\x7fELF\x02\x01\x01")
	put.PutUint16(p[16:], uint16(elf.ET_EXEC))
	put.PutUint16(p[18:], uint16(elf.EM_X86_64))
	put.PutUint64(p[32:], programs)
	put.PutUint64(p[40:], sections)
	put.PutUint16(p[54:], 56)
	put.PutUint16(p[56:], 2)
	put.PutUint16(p[58:], 64)
	put.PutUint16(p[60:], 4)
	put.PutUint16(p[62:], 3)
	program := func(at int, kind elf.ProgType, flags elf.ProgFlag, off, addr, size uint64) {
		put.PutUint32(p[at:], uint32(kind))
		put.PutUint32(p[at+4:], uint32(flags))
		for i, v := range []uint64{off, addr, addr, size, size} {
			put.PutUint64(p[at+8+8*i:], v)
		}
	}
	program(programs, elf.PT_LOAD, elf.PF_R|elf.PF_X, 0x1000, 0x401000, 64)
	program(programs+56, elf.PT_NOTE, elf.PF_R, uint64(note), 0, 20)
	section := func(i int, name string, kind elf.SectionType, off, size int, link uint32) {
		at := sections + 64*i
		put.PutUint32(p[at:], uint32(strings.Index(names, name)))
		put.PutUint32(p[at+4:], uint32(kind))
		put.PutUint64(p[at+24:], uint64(off))
		put.PutUint64(p[at+32:], uint64(size))
		put.PutUint32(p[at+40:], link)
	}
	section(1, ".symtab\x00", elf.SHT_SYMTAB, symtab, 5*24, 2)
	section(2, ".strtab\x00", elf.SHT_STRTAB, strtab, len(strs), 0)
	section(3, ".shstrtab\x00", elf.SHT_STRTAB, shstr, len(names), 0)
	symbol := func(i int, name string, bind elf.SymBind, addr, size uint64) {
		at := symtab + 24*i
		put.PutUint32(p[at:], uint32(strings.Index(strs, name)))
		p[at+4] = byte(bind)<<4 | byte(elf.STT_FUNC)
		put.PutUint16(p[at+6:], 1)
		put.PutUint64(p[at+8:], addr)
		put.PutUint64(p[at+16:], size)
	}
	symbol(1, "alias\x00", elf.STB_LOCAL, 0x401000, 16)
	symbol(2, "work\x00", elf.STB_GLOBAL, 0x401000, 16)
	symbol(3, "_ZN3app", elf.STB_WEAK, 0x401020, 16)
	symbol(4, "alias\x00", elf.STB_GLOBAL, 0x401030, 0)
	copy(p[strtab:], strs)
	copy(p[shstr:], names)
	copy(p[note:], "\x04\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00GNU\x00\xde\xad\xbe\xef")
	return p
}

func TestSymbols(t *testing.T) {
	f, err := Open(bytes.NewReader(small()))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Problems(); err != nil {
		t.Error(err)
	}
	if f.BuildID() != "deadbeef" || f.Go() || f.Empty() {
		t.Errorf("build id %q, Go %v, empty %v", f.BuildID(), f.Go(), f.Empty())
	}
	for addr, want := range map[uint64]string{
		0x400fff: "", 0x401000: "work", 0x40100f: "work", 0x401010: "", // between two functions
		0x401020: "app::Queue::push", 0x401030: "alias", 0x40103f: "alias", 0x401040: "",
	} {
		got := ""
		if frames := f.Lookup(addr); len(frames) > 0 {
			got = frames[0].Name
		}
		if got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
	if addr, ok := f.Address(0x1010); !ok || addr != 0x401010 {
		t.Errorf("offset 0x1010 is at %#x, %v", addr, ok)
	}
	if _, _, err := f.Line(0x401000); !errors.Is(err, ErrNoLines) {
		t.Errorf("lines without debugging information: %v", err)
	}
	if _, ok := f.Depth(0x401000); ok {
		t.Error("a function of C has a depth")
	}
}

func TestDemangle(t *testing.T) {
	for name, want := range map[string]string{
		"main.main":                              "main.main",
		"_ZN3app5Queue4pushEi":                   "app::Queue::push",
		"_ZNSt6vectorIiSaIiEE9push_backERKi":     "std::vector<int, std::allocator<int> >::push_back",
		"_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
		"_RNvC7mycrate3foo":                      "mycrate::foo",
		"_Z":                                     "_Z",
		"_Zgarbage":                              "_Zgarbage",
	} {
		if got := Demangle(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	// Names that grow with each substitution stay bounded.
	bomb := "_Z1fI1AIi" + strings.Repeat("S_S_", 400) + "EvT_"
	if got := Demangle(bomb); len(got) > 8<<10 {
		t.Errorf("a name has %d bytes", len(got))
	}
}

// probe opens a file and asks it everything.
func probe(p []byte) {
	f, err := Open(bytes.NewReader(p))
	if err != nil {
		return
	}
	for _, s := range f.loads {
		for addr := s.addr; addr < s.addr+64; addr += 7 {
			f.Lookup(addr)
			f.Depth(addr)
			f.Step(addr)
		}
		_, _, _ = f.Line(s.addr)
		f.Address(s.off)
	}
}

// A file that says it is large costs no more memory than it has bytes.
func TestHostile(t *testing.T) {
	whole := small()
	for i := range len(whole) {
		if i < 1024 || i%97 == 0 {
			probe(whole[:i])
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 3000
	for range rounds {
		p := bytes.Clone(whole)
		for range 1 + r.IntN(4) {
			at := r.IntN(1024)
			switch r.IntN(3) {
			case 0:
				p[at] ^= 1 << r.IntN(8)
			case 1:
				binary.LittleEndian.PutUint64(p[at&^7:], 1<<30)
			case 2:
				binary.LittleEndian.PutUint64(p[at&^7:], r.Uint64())
			}
		}
		probe(p)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / rounds; each > 16<<20 {
		t.Errorf("a damaged file of %d bytes costs %d bytes of memory", len(whole), each)
	}
	for name, p := range map[string][]byte{
		"empty": nil, "text": []byte(strings.Repeat("#!/bin/sh\n", 20)), "32 bits": append([]byte("\x7fELF\x01\x01"), make([]byte, 100)...),
	} {
		if _, err := Open(bytes.NewReader(p)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(small())
	f.Add(small()[:200])
	f.Fuzz(func(_ *testing.T, p []byte) { probe(p) })
}

// Many tables that overlap cost no more than one: what is looked through is limited.
func TestOverlap(t *testing.T) {
	const size, count = 8 << 20, 60_000
	p := append(small(), make([]byte, size)...)
	sections := uint64(len(p))
	head := p[64+2*56 : 64+2*56+64*4]
	for i := range count {
		s := bytes.Clone(head[64 : 64+64]) // the table of symbols
		if i < 4 {
			s = bytes.Clone(head[64*i : 64*i+64])
		} else {
			binary.LittleEndian.PutUint64(s[24:], 0x1000)
			binary.LittleEndian.PutUint64(s[32:], size)
		}
		p = append(p, s...)
	}
	binary.LittleEndian.PutUint64(p[40:], sections)
	binary.LittleEndian.PutUint16(p[60:], count)
	f, err := Open(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(f.Problems(), ErrTooLarge) || f.scanned > maxScanned+1<<20 {
		t.Errorf("scanned %d bytes: %v", f.scanned, f.Problems())
	}
}
