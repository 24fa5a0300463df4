package gomem

import (
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	maxSymtab  = 256 << 20 // bytes of the symbol table
	maxStrtab  = 512 << 20 // bytes of the names of symbols
	maxSystem  = 20_000    // functions of package runtime
	maxProgram = 512       // program headers
)

// prefix is how the names of the runtime's functions and variables begin.
const prefix = "runtime."

// An image is what is known of the file that a process runs. Addresses are those of the file;
// the process may have loaded it elsewhere.
type image struct {
	version string // "go1.26.8", as the toolchain wrote it
	path    string // of the main package
	module  string // "example.org/service v1.2.3"
	arch    string // GOARCH
	tags    map[string]string
	deps    []string
	elf     *elf.File
	file    io.ReaderAt
	symbols map[string]uint64 // of the runtime's variables
	sizes   map[string]uint64 // of the same, in bytes, if there is a symbol table
	// system has the entry of each function of package runtime that is the start of
	// goroutines which runtime.NumGoroutine does not count.
	system map[uint64]struct{}
	start  uint64 // address of the program headers
}

// executable opens the file that a process runs, also if it was deleted or is in another
// mount namespace.
func executable(pid int) (*os.File, error) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	if err != nil {
		return nil, access(pid, err)
	}
	return f, nil
}

// guard turns a panic into an error. The packages below debug are not hardened against files
// that were made to break them, as their documentation says.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: the binary is damaged: %v", ErrLayout, r)
	}
}

// newImage reads the headers of a binary. The file stays open as long as the image is used.
func newImage(file io.ReaderAt) (_ *image, err error) {
	defer guard(&err)
	info, err := buildinfo.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	if f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian {
		return nil, fmt.Errorf("read a binary for %v: only 64-bit little-endian machines are known: %w", f.Machine, errors.ErrUnsupported)
	}
	if len(f.Progs) > maxProgram {
		return nil, tooLarge("number of program headers", uint64(len(f.Progs)), maxProgram)
	}
	im := &image{
		version: info.GoVersion, path: info.Path, elf: f, file: file, tags: map[string]string{},
		module: strings.TrimSpace(info.Main.Path + " " + info.Main.Version),
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		im.deps = append(im.deps, strings.TrimSpace(d.Path+" "+d.Version))
	}
	for _, s := range info.Settings {
		im.tags[s.Key] = s.Value
	}
	switch f.Machine {
	case elf.EM_X86_64:
		im.arch = "amd64"
	case elf.EM_AARCH64:
		im.arch = "arm64"
	default:
		im.arch = im.tags["GOARCH"]
	}
	if im.start, err = im.headers(); err != nil {
		return nil, err
	}
	return im, nil
}

// headers returns the address at which the program headers are loaded.
func (im *image) headers() (uint64, error) {
	var head [64]byte
	if _, err := im.file.ReadAt(head[:], 0); err != nil {
		return 0, fmt.Errorf("read the head of the binary: %w", err)
	}
	off := binary.LittleEndian.Uint64(head[32:])
	for _, p := range im.elf.Progs {
		if p.Type == elf.PT_LOAD && off >= p.Off && off < p.Off+p.Filesz {
			return off - p.Off + p.Vaddr, nil
		}
	}
	return 0, fmt.Errorf("%w: the program headers are not loaded", ErrNotGo)
}

// readSymbols finds the runtime's variables and functions in the symbol table. Without a table
// it returns [ErrStripped].
func (im *image) readSymbols() (err error) {
	defer guard(&err)
	tab := im.elf.SectionByType(elf.SHT_SYMTAB)
	if tab == nil || tab.Size == 0 {
		return ErrStripped
	}
	if int(tab.Link) >= len(im.elf.Sections) {
		return fmt.Errorf("read the symbol table: section %d does not exist", tab.Link)
	}
	str := im.elf.Sections[tab.Link]
	if tab.Size > maxSymtab {
		return tooLarge("symbol table", tab.Size, maxSymtab)
	}
	if str.Size > maxStrtab {
		return tooLarge("names of symbols", str.Size, maxStrtab)
	}
	names, err := io.ReadAll(io.LimitReader(str.Open(), maxStrtab))
	if err != nil {
		return fmt.Errorf("read the names of symbols: %w", err)
	}
	wanted := map[string]string{}
	for _, v := range variables {
		wanted[v.name], wanted[v.was] = v.name, v.name
	}
	im.symbols, im.sizes, im.system = map[string]uint64{}, map[string]uint64{}, map[uint64]struct{}{}
	in := tab.Open()
	block := make([]byte, 24*4096)
	for {
		n, err := io.ReadFull(in, block)
		for p := block[:n/24*24]; len(p) > 0; p = p[24:] {
			im.symbol(p[:24], names, wanted)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the symbol table: %w", err)
		}
	}
}

// symbol keeps a symbol (ELF-64, Elf64_Sym) if it is needed.
func (im *image) symbol(p, names []byte, wanted map[string]string) {
	at := binary.LittleEndian.Uint32(p)
	addr := binary.LittleEndian.Uint64(p[8:])
	if uint64(at) >= uint64(len(names)) || addr == 0 {
		return
	}
	name := names[at:min(len(names), int(at)+128)]
	if len(name) < len(prefix) || string(name[:len(prefix)]) != prefix {
		return
	}
	end := 0
	for end < len(name) && name[end] != 0 {
		end++
	}
	switch s := string(name[:end]); elf.ST_TYPE(p[4]) {
	case elf.STT_OBJECT, elf.STT_NOTYPE:
		variable := wanted[s]
		if _, twice := im.symbols[variable]; variable != "" && !twice {
			im.symbols[variable] = addr
			im.sizes[variable] = binary.LittleEndian.Uint64(p[16:])
		}
	case elf.STT_FUNC:
		im.function(s, addr)
	}
}

// function keeps a function of the runtime if the goroutines that start with it are the
// runtime's own (runtime.isSystemGoroutine). Goroutines of finalizers and cleanups count as
// the program's only while they call its functions, which is not looked at here.
func (im *image) function(name string, addr uint64) {
	switch name {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		return
	}
	if strings.HasPrefix(name, prefix) && len(im.system) < maxSystem {
		im.system[addr] = struct{}{}
	}
}

// bias returns by how much the process has moved the binary: where the kernel put the program
// headers, which it told the process in its auxiliary vector (getauxval(3), AT_PHDR).
func (im *image) bias(pid int) (uint64, error) {
	if im.elf.Type != elf.ET_DYN {
		return 0, nil
	}
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "auxv"))
	if err != nil {
		return 0, access(pid, err)
	}
	defer f.Close()
	vector, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return 0, access(pid, err)
	}
	const phdr = 3
	for p := vector; len(p) >= 16; p = p[16:] {
		if binary.LittleEndian.Uint64(p) == phdr {
			return binary.LittleEndian.Uint64(p[8:]) - im.start, nil
		}
	}
	return 0, fmt.Errorf("process %d: %w: the auxiliary vector does not say where the program is", pid, ErrGone)
}
