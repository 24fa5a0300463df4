package gomem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Process reads the runtime of one process. It may be used by one goroutine at a time.
type Process struct {
	info    Info
	mem     *memory
	layout  layout
	vars    map[string]uint64 // addresses in the process
	system  map[uint64]struct{}
	missing []Missing
	lost    map[string]bool // names in missing
	reasons []string
	cpus    Value

	fixed  batch          // figures at fixed addresses
	again  []byte         // fixed, from the reading before
	slots  map[string]int // where in fixed a variable or field is
	words  []int          // those slots that have 64 bits
	ps     batch
	walk   batch
	states *States

	syms  *symbols // once they are needed
	snaps snapshots
	lists lists

	bucketBatch batch
}

// Info describes the program that a process runs.
type Info struct {
	PID     int
	Version string // of Go: "go1.26.8"
	Path    string // of the main package
	Module  string // that contains it, with its version
	Arch    string // GOARCH
	// Settings are those of the build: "-ldflags", "GOEXPERIMENT", "vcs.revision". They are what
	// `go version -m` prints.
	// DefaultGODEBUG is GODEBUG as far as go.mod and the sources set it.
	Settings map[string]string
	// Deps are the modules that the program was built with: "example.org/module v1.2.3".
	Deps []string
	// Symbols says where the addresses come from, Layout where the places of fields do.
	Symbols, Layout string
}

// Missing is a part of the runtime that cannot be read. The figures that need it are unknown.
type Missing struct {
	Name   string // "gc.heapLive"
	Reason string
}

// Open prepares to read the runtime of a running process. It reads the binary, which takes
// tens of milliseconds, or some hundred for a large program. The caller closes the result.
//
// The error is [ErrNotGo], [ErrGone], [ErrPermission], [ErrStripped], [ErrLayout],
// [ErrTooLarge] or [errors.ErrUnsupported], or of the kernel.
func Open(pid int) (*Process, error) {
	mem, err := openMemory(pid)
	if err != nil {
		return nil, fmt.Errorf("open the memory: %w", err)
	}
	p, err := open(pid, mem)
	if err != nil {
		return nil, errors.Join(err, mem.close())
	}
	return p, nil
}

func open(pid int, mem *memory) (*Process, error) {
	file, err := executable(pid)
	if err != nil {
		return nil, fmt.Errorf("open the program: %w", err)
	}
	defer file.Close()
	im, err := newImage(file)
	if err != nil {
		return nil, fmt.Errorf("read the program of process %d: %w", pid, err)
	}
	p := &Process{
		mem:  mem,
		lost: map[string]bool{},
		info: Info{PID: pid, Version: im.version, Path: im.path, Module: im.module, Arch: im.arch, Settings: im.tags, Deps: im.deps},
	}
	bias, err := im.bias(pid)
	if err != nil {
		return nil, err
	}
	mem.probe = im.start + bias
	if err := mem.alive(); err != nil {
		return nil, err
	}
	if err := p.findVariables(im, bias); err != nil {
		return nil, fmt.Errorf("read the program of process %d, built by %s: %w", pid, im.version, err)
	}
	if err := p.findLayout(im); err != nil {
		return nil, fmt.Errorf("read the program of process %d, built by %s: %w", pid, im.version, err)
	}
	p.prepare()
	p.readReasons()
	if n, err := p.variable(varCPUs, 4); err == nil && n > 0 {
		p.cpus = known(n)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("read process %d, built by %s: %w", pid, im.version, err)
	}
	return p, nil
}

// findLayout takes the layout from the binary's debugging information, or else from the table
// of versions.
func (p *Process) findLayout(im *image) error {
	l, err := im.debugLayout()
	p.info.Layout = "DWARF"
	if err != nil {
		var tested string
		var unknown error
		if l, tested, unknown = knownLayout(im); unknown != nil {
			return fmt.Errorf("%w; %w", err, unknown)
		}
		p.info.Layout = "table, " + tested
	}
	p.layout = l
	p.lack()
	return nil
}

// lack lists the fields that the layout does not have.
func (p *Process) lack() {
	for _, s := range structures {
		for _, w := range s.fields {
			if !p.has(w.name) && !slices.Contains(optional, w.name) {
				p.miss(w.name, fmt.Sprintf("%s of %s has no field %s", s.typ, p.info.Version, strings.Join(w.paths, " or ")))
			}
		}
	}
	if !p.has("sched.gFree.n") && !p.has("sched.gFree.stack", "sched.gFree.noStack") {
		p.miss("sched.gFree", fmt.Sprintf("runtime.schedt of %s has no sizes of gFree", p.info.Version))
	}
}

// findVariables finds the addresses of the runtime's variables.
func (p *Process) findVariables(im *image, bias uint64) error {
	p.info.Symbols = "symbol table"
	err := im.readSymbols()
	if errors.Is(err, ErrStripped) {
		p.info.Symbols = "code"
		err = im.decodeSymbols(func(b []byte, addr uint64) error { return p.mem.one(b, addr+bias) }, bias)
	}
	if err != nil {
		return err
	}
	p.vars, p.system = map[string]uint64{}, map[uint64]struct{}{}
	for name, addr := range im.symbols {
		p.vars[name] = addr + bias
	}
	for addr := range im.system {
		p.system[addr+bias] = struct{}{}
	}
	for _, v := range variables {
		if _, ok := p.vars[v.name]; !ok && v.name != varReasons && !v.apart {
			p.miss(v.name, "the binary has no such symbol")
		}
	}
	if len(p.vars) == 0 {
		return fmt.Errorf("%w of package runtime", ErrStripped)
	}
	return nil
}

func (p *Process) miss(name, reason string) {
	if !p.lost[name] {
		p.lost[name] = true
		p.missing = append(p.missing, Missing{name, reason})
	}
}

// Info describes the program.
func (p *Process) Info() Info { return p.info }

// Missing lists what this process's runtime lacks, or this package does not find.
func (p *Process) Missing() []Missing { return slices.Clone(p.missing) }

// Close releases the descriptors of the memory and of the binary. The process is not affected.
func (p *Process) Close() error {
	if p.syms == nil {
		return p.mem.close()
	}
	return errors.Join(p.mem.close(), p.syms.file.Close())
}

// Read reads all figures. It returns [ErrGone] once the process has ended or runs another
// program. It costs about 50 microseconds, and at most once a second a walk over the goroutines,
// which costs some milliseconds for 10,000 of them.
func (p *Process) Read() (Figures, error) {
	if err := p.readFixed(); err != nil {
		return Figures{}, fmt.Errorf("read the runtime: %w", err)
	}
	f := Figures{}
	p.collector(&f)
	if err := p.scheduler(&f); err != nil {
		return Figures{}, fmt.Errorf("read the scheduler: %w", err)
	}
	f.At = time.Now()
	if err := p.goroutines(f.At); err != nil {
		return Figures{}, fmt.Errorf("read the goroutines: %w", err)
	}
	f.States = p.states
	return f, nil
}
