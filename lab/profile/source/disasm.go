package source

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/redline-go/redline/lab/report"
)

// coded is a function with the samples of its instructions.
type coded struct {
	name    string
	mapping *pprof.Mapping
	at      map[uint64]*cost // by address in the process
	total   cost
}

// Disasm writes the code of the functions that match, with the values of each instruction. An
// inlined function is shown within the function that it was inlined into, whose name matches.
func Disasm(w io.Writer, p *pprof.Profile, o Options) error {
	list := instructions(p, o)
	if len(list) == 0 {
		return fmt.Errorf("--disasm %s: %w", o.Match, ErrNone)
	}
	binaries := map[string]*binary{}
	var failed error
	var b strings.Builder
	for _, f := range list[:min(len(list), mostFunctions)] {
		fmt.Fprintf(&b, "%s, flat %s, cum %s\n", report.Line(f.name), o.Print(float64(f.total.flat)), o.Print(float64(f.total.cum)))
		if err := f.write(&b, binaries, o); err != nil {
			fmt.Fprintf(&b, "the code is missing: %v; name the program with --binary\n", err)
		}
		b.WriteString("\n")
	}
	if more := len(list) - mostFunctions; more > 0 {
		fmt.Fprintf(&b, "%d more functions match\n", more)
	}
	for _, one := range binaries {
		if one != nil {
			failed = errors.Join(failed, one.close())
		}
	}
	_, err := io.WriteString(w, b.String())
	return errors.Join(err, failed)
}

// instructions adds up the values of the addresses in the functions that match.
func instructions(p *pprof.Profile, o Options) []*coded {
	type key struct {
		name    string
		mapping *pprof.Mapping
	}
	found := map[key]*coded{}
	for _, s := range p.Sample {
		v := s.Value[o.Value]
		seen, within := map[uint64]bool{}, map[*coded]bool{}
		for i, l := range s.Location {
			if len(l.Line) == 0 || l.Line[len(l.Line)-1].Function == nil {
				continue
			}
			name := l.Line[len(l.Line)-1].Function.Name // the others are inlined into it
			if !o.Match.MatchString(name) {
				continue
			}
			f := found[key{name, l.Mapping}]
			if f == nil {
				f = &coded{name: name, mapping: l.Mapping, at: map[uint64]*cost{}}
				found[key{name, l.Mapping}] = f
			}
			at := f.at[l.Address]
			if at == nil {
				at = &cost{}
				f.at[l.Address] = at
			}
			if i == 0 {
				at.flat += v
				f.total.flat += v
			}
			if !seen[l.Address] {
				seen[l.Address] = true
				at.cum += v
			}
			if !within[f] {
				within[f] = true
				f.total.cum += v
			}
		}
	}
	list := slices.Collect(maps.Values(found))
	slices.SortFunc(list, func(a, b *coded) int {
		return cmp.Or(cmp.Compare(b.total.cum, a.total.cum), cmp.Compare(a.name, b.name))
	})
	return list
}

// write writes the instructions of a function.
func (f *coded) write(b *strings.Builder, binaries map[string]*binary, o Options) error {
	if f.mapping == nil || f.mapping.File == "" || strings.HasPrefix(f.mapping.File, "[") {
		return errors.New("the profile does not name the file with the code")
	}
	path := o.Binary(f.mapping.File)
	file, known := binaries[path]
	if !known {
		var err error
		if file, err = openBinary(path); err != nil {
			return err
		}
		binaries[path] = file
	}
	costs := map[uint64]*cost{}
	var first uint64
	for addr, c := range f.at {
		first = file.address(f.mapping, addr)
		costs[first] = c
	}
	s, err := file.function(first)
	if err != nil {
		return fmt.Errorf("%s: %w at %#x; it may be another build", path, err, first)
	}
	code, err := file.code(s)
	if err != nil {
		return err
	}
	decode, err := file.decoder()
	if err != nil {
		return err
	}
	b.WriteString(o.head() + "\n")
	last := ""
	for pc := s.start; pc < s.end; {
		text, size := decode(code[pc-s.start:], pc)
		size = min(size, int(s.end-pc))
		// A caller has the address of the last byte of its call.
		var sum *cost
		for at := pc; at < pc+uint64(size); at++ {
			if c := costs[at]; c != nil {
				if sum == nil {
					sum = &cost{}
				}
				sum.flat += c.flat
				sum.cum += c.cum
			}
		}
		where := ""
		if src, line := file.line(pc); src != "" {
			where = fmt.Sprintf("%s:%d", report.Line(filepath.Base(src)), line)
		}
		if where == last {
			where = ""
		} else {
			last = where
		}
		fmt.Fprintf(b, "%s  %8x  %-50s %s\n", o.values(sum), pc, report.Line(text), where)
		pc += uint64(size)
	}
	return nil
}

// decoder returns a function that decodes the instruction at the start of code, and returns it
// in Go's syntax with its size. Bytes that are no instruction are shown as such.
func (b *binary) decoder() (func(code []byte, pc uint64) (string, int), error) {
	switch b.file.Machine {
	case elf.EM_X86_64:
		return func(code []byte, pc uint64) (string, int) {
			inst, err := x86asm.Decode(code, 64)
			if err != nil || inst.Len == 0 {
				return fmt.Sprintf("?  %#02x", code[0]), 1
			}
			return x86asm.GoSyntax(inst, pc, b.name), inst.Len
		}, nil
	case elf.EM_AARCH64:
		return func(code []byte, pc uint64) (string, int) {
			inst, err := arm64asm.Decode(code)
			if err != nil {
				return "?", 4
			}
			return arm64asm.GoSyntax(inst, pc, b.name, nil), 4
		}, nil
	}
	return nil, fmt.Errorf("code for %v cannot be shown; use objdump", b.file.Machine)
}
