package stacks

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile/symbols"
)

// result builds the profile.
func (s *session) result(start time.Time, length time.Duration) *Taken {
	b := newBuilder(s)
	p := b.profile
	p.TimeNanos, p.DurationNanos = start.UnixNano(), length.Nanoseconds()
	values := []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	p.PeriodType, p.Period = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, int64(s.period)
	if s.opts.Kind == OffCPU {
		values = []*profile.ValueType{{Type: "waits", Unit: "count"}, {Type: "offcpu", Unit: "nanoseconds"}}
		p.PeriodType = &profile.ValueType{Type: "waits", Unit: "count"}
	}
	p.SampleType, p.DefaultSampleType = values, values[1].Type
	if s.opts.Kernel {
		s.readKernel()
	}
	for _, p := range s.processes {
		if m, err := readMap(p.pid); err == nil && p.space.tried {
			p.space.jit, p.space.problem = m, nil
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.samples.buckets)) {
		b.add(s.samples.buckets[key])
	}
	s.describe()
	b.limits()
	p.Comments = append([]string{"taken by perf_event_open"}, s.notes...)
	return &Taken{Profile: p, Lost: s.lost, Notes: s.notes}
}

// readKernel reads the kernel's functions, or notes why not.
func (s *session) readKernel() {
	if err := s.files.readKernel(); errors.Is(err, symbols.ErrHidden) {
		s.note("Frames of the kernel have no names: %v.", err)
	} else if err != nil {
		s.note("Frames of the kernel have no names: read /proc/kallsyms: %v.", err)
	}
}

// describe notes what limits the profile.
func (s *session) describe() {
	x := s.samples
	if x.total == 0 {
		s.note("There are no samples: the threads used no CPU time, or did not block.")
	}
	if s.lost > 0 {
		s.note("%d records were lost: the machine was too busy to read them in time.", s.lost)
	}
	if s.throttled > 0 {
		s.note("The kernel held back samples %d times: they took too much CPU time.", s.throttled)
	}
	if x.single*5 > x.total {
		s.note("%.0f %% of the samples have a single frame of the program: it was probably built without frame pointers.", 100*float64(x.single)/float64(x.total))
	}
	if s.cut > 0 {
		s.note("%d stacks are deeper than %d KiB, without frame pointers: their outer part is missing.", s.cut, nativeTop>>10)
	}
	if x.folded > 0 {
		s.note("There are more than %d different stacks: of %d samples only the innermost function was kept.", maxStacks, x.folded)
	}
	if x.missing > 0 {
		s.note("%d samples found no room.", x.missing)
	}
	if w := s.waits; w != nil && w.cut > 0 {
		s.note("%d waits did not end in the window: they count up to its end.", w.cut)
	}
	if w := s.waits; w != nil && w.asleep > 0 {
		s.note("%d threads blocked from before the window to its end: where is not known.", w.asleep)
	}
	for path, err := range s.files.failed {
		if !errors.Is(err, fs.ErrNotExist) {
			s.note("Functions of %s have no names: %v.", path, err)
		}
	}
	for _, b := range s.files.open {
		if b.err != nil {
			s.note("Functions of %s have no names: %v.", b.path, b.err)
		} else if err := b.elf.Problems(); err != nil {
			s.note("Functions of %s may have no names: %v.", b.path, err)
		}
	}
	for _, p := range s.processes {
		if p.space.problem != nil {
			s.note("Code that process %d has compiled at run time has no names: %s.", p.pid, mapProblem(p.space.problem))
		}
	}
}

// mapProblem says what to do for a perf map.
func mapProblem(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it writes no perf map (node --perf-basic-prof, python -X perf)"
	}
	return err.Error()
}

// builder makes a profile of addresses and their functions.
type builder struct {
	*session
	profile   *profile.Profile
	mappings  map[mappingKey]*profile.Mapping
	locations map[locationKey]*profile.Location
	functions map[symbols.Frame]*profile.Function
	noLines   map[*program]error
}

type mappingKey struct {
	start, end, offset uint64
	path, id           string
	pid                int // of memory that is not a file
}

type locationKey struct {
	mapping *profile.Mapping
	addr    uint64
}

func newBuilder(s *session) *builder {
	return &builder{
		session: s, profile: &profile.Profile{}, mappings: map[mappingKey]*profile.Mapping{},
		locations: map[locationKey]*profile.Location{}, functions: map[symbols.Frame]*profile.Function{}, noLines: map[*program]error{},
	}
}

// add adds a bucket.
func (b *builder) add(x *bucket) {
	sample := &profile.Sample{
		Value:    []int64{x.count, x.value},
		Label:    map[string][]string{"comm": {strings.ToValidUTF8(x.name, "?")}},
		NumLabel: map[string][]int64{"pid": {int64(x.pid)}, "thread": {int64(x.tid)}},
	}
	if x.state != 0 {
		sample.Label["state"] = []string{string(x.state)}
	}
	if x.slice > 0 {
		sample.NumLabel["slice"] = []int64{int64(x.slice - 1)}
	}
	for i, addr := range x.kernel {
		if name, _ := b.files.kernel.Lookup(addr); i == 0 && strings.HasPrefix(name, "__traceiter_") {
			continue // of the tracepoint itself
		}
		sample.Location = append(sample.Location, b.kernelLocation(before(addr, i)))
	}
	for i, addr := range x.user {
		sample.Location = append(sample.Location, b.userLocation(x.space, before(addr, i)))
	}
	b.profile.Sample = append(b.profile.Sample, sample)
}

// before returns an address in the call, of the address that it returns to.
func before(addr uint64, frame int) uint64 {
	if frame > 0 && addr > 0 {
		return addr - 1
	}
	return addr
}

func (b *builder) kernelLocation(addr uint64) *profile.Location {
	m := b.mapping(mappingKey{start: 1 << 63, end: ^uint64(0), path: "[kernel]"})
	l, fresh := b.location(m, addr)
	if name, ok := b.files.kernel.Lookup(addr); ok && fresh {
		b.lines(l, []symbols.Frame{{Name: name}})
	}
	return l
}

func (b *builder) userLocation(sp *space, addr uint64) *profile.Location {
	m := sp.have(addr)
	if m == nil {
		l, _ := b.location(b.mapping(mappingKey{end: 1 << 63, path: "[unknown]"}), addr)
		return l
	}
	key := mappingKey{start: m.start, end: m.end, offset: m.offset, path: m.path}
	if m.program != nil && m.program.elf != nil {
		key.id = m.program.elf.BuildID()
	}
	if m.inode == 0 && m.path != "[vdso]" {
		key.pid = sp.pid
	}
	l, fresh := b.location(b.mapping(key), addr)
	if fresh {
		b.lines(l, b.frames(sp, m, addr))
	}
	return l
}

// frames finds the functions of an address.
func (b *builder) frames(sp *space, m *mapping, addr uint64) []symbols.Frame {
	if m.anonymous() {
		if name, ok := sp.jit.Lookup(addr); ok {
			return []symbols.Frame{{Name: name}}
		}
	}
	if m.program == nil || m.program.elf == nil {
		return nil
	}
	at, ok := m.address(addr)
	if !ok {
		return nil
	}
	frames := m.program.elf.Lookup(at)
	if b.opts.Lines && m.program != b.files.vdso && len(frames) == 1 && frames[0].File == "" && b.noLines[m.program] == nil {
		file, line, err := m.program.elf.Line(at)
		if errors.Is(err, symbols.ErrNoLines) || errors.Is(err, symbols.ErrTooLarge) {
			b.noLines[m.program] = err
		}
		if err == nil {
			frames[0].File, frames[0].Line = file, line
		}
	}
	return frames
}

func (b *builder) mapping(key mappingKey) *profile.Mapping {
	m := b.mappings[key]
	if m == nil {
		m = &profile.Mapping{
			ID: uint64(len(b.mappings) + 1), Start: key.start, Limit: key.end, Offset: key.offset,
			File: strings.ToValidUTF8(key.path, "?"), BuildID: key.id, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		}
		if key.path == "" {
			m.File = fmt.Sprintf("[anonymous] of process %d", key.pid)
		}
		b.mappings[key] = m
		b.profile.Mapping = append(b.profile.Mapping, m)
	}
	return m
}

func (b *builder) location(m *profile.Mapping, addr uint64) (l *profile.Location, fresh bool) {
	key := locationKey{m, addr}
	if l = b.locations[key]; l != nil {
		return l, false
	}
	l = &profile.Location{ID: uint64(len(b.locations) + 1), Mapping: m, Address: addr}
	b.locations[key] = l
	b.profile.Location = append(b.profile.Location, l)
	return l, true
}

func (b *builder) lines(l *profile.Location, frames []symbols.Frame) {
	for _, f := range frames {
		key := f
		key.Line = 0
		fn := b.functions[key]
		if fn == nil {
			fn = &profile.Function{
				ID: uint64(len(b.functions) + 1), Name: strings.ToValidUTF8(f.Name, "?"),
				SystemName: strings.ToValidUTF8(cmp.Or(f.System, f.Name), "?"), Filename: strings.ToValidUTF8(f.File, "?"), StartLine: int64(f.StartLine),
			}
			b.functions[key] = fn
			b.profile.Function = append(b.profile.Function, fn)
		}
		l.Line = append(l.Line, profile.Line{Function: fn, Line: int64(f.Line)})
	}
}

// limits notes what the builder has left out.
func (b *builder) limits() {
	for file, err := range b.noLines {
		b.note("Functions of %s have no lines: %v.", file.path, err)
	}
}
