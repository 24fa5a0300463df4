package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/frames"
	"github.com/redline-go/redline/lab/report"
)

const (
	deepest   = 2048     // frames of a stack; the innermost ones of a deeper one are left out
	allFrames = 50 << 20 // frames of all stacks

	mostSlices = 1000 // parts of a window
)

// Symbol is a function of a profile.
type Symbol struct {
	Name   string
	File   string // source file; empty: unknown
	Origin frames.Origin
	Class  string // of a function with a purpose of its own; else empty
	Kernel bool
}

// Samples are the samples of one value of a profile. Stacks with the same functions are not
// merged.
type Samples struct {
	Type, Unit string // as cpu, nanoseconds
	Symbols    []Symbol
	Stacks     [][]int32 // indexes into Symbols, outermost first
	Values     []int64   // of the stacks
	Slices     []int32   // parts of the window in which the stacks ran; nil unless all of them tell
	Total      int64
	Cut        int // stacks that were too deep
	Window     profile.Window
}

// Read evaluates one value of a profile; see [Pick]. Inlined calls are frames like others.
// module is the main module of the program; empty: that in the profile, if any.
func Read(p *pprof.Profile, value int, module string) (*Samples, error) {
	w, err := profile.WindowOf(p)
	if err != nil {
		return nil, err
	}
	if module != "" {
		w.Module = module
	}
	s := &Samples{Type: p.SampleType[value].Type, Unit: p.SampleType[value].Unit, Window: w}
	r := reader{samples: s, symbols: map[string]int32{}, locations: map[*pprof.Location][]int32{}}
	left := allFrames
	for _, one := range p.Sample {
		if one.Value[value] == 0 {
			continue
		}
		stack := r.stack(one)
		if left -= len(stack); left < 0 {
			return nil, fmt.Errorf("%w: the stacks have more than %d million frames", profile.ErrTooLarge, allFrames>>20)
		}
		s.Stacks = append(s.Stacks, stack)
		if at := one.NumLabel[profile.SliceLabel]; w.Slice > 0 && len(at) == 1 && at[0] >= 0 && at[0] < mostSlices {
			s.Slices = append(s.Slices, int32(at[0]))
		}
		s.Values = append(s.Values, one.Value[value])
		s.Total += one.Value[value]
	}
	if len(s.Slices) < len(s.Stacks) {
		s.Slices = nil
	}
	return s, nil
}

// PerRequest returns the factor that converts a value to one for each request, or 0 if the
// requests are unknown.
func (s *Samples) PerRequest() float64 {
	if s.Window.Requests <= 0 {
		return 0
	}
	return 1 / s.Window.Requests
}

type reader struct {
	samples   *Samples
	symbols   map[string]int32
	locations map[*pprof.Location][]int32 // frames, innermost first
}

// stack returns the stack of a sample, outermost first.
func (r *reader) stack(one *pprof.Sample) []int32 {
	n := 0
	for _, l := range one.Location {
		n += len(r.frames(l))
	}
	stack := make([]int32, 0, min(n, deepest))
	for _, l := range slices.Backward(one.Location) {
		for _, f := range slices.Backward(r.frames(l)) {
			if len(stack) == deepest {
				r.samples.Cut++
				return stack
			}
			stack = append(stack, f)
		}
	}
	return stack
}

// frames returns the functions at a location, innermost first.
func (r *reader) frames(l *pprof.Location) []int32 {
	if known, ok := r.locations[l]; ok {
		return known
	}
	mapping := ""
	if l.Mapping != nil {
		mapping = l.Mapping.File
	}
	var list []int32
	for _, line := range l.Line[:min(len(l.Line), deepest)] {
		f := frames.Frame{Name: "?", Mapping: mapping}
		if line.Function != nil {
			f.Name, f.File = report.Line(line.Function.Name), report.Line(line.Function.Filename)
		}
		list = append(list, r.symbol(f))
	}
	if len(list) == 0 { // a program without symbols
		name := fmt.Sprintf("%#x", l.Address)
		if mapping != "" {
			name = "[" + report.Line(mapping[strings.LastIndexByte(mapping, '/')+1:]) + "]"
		}
		list = []int32{r.symbol(frames.Frame{Name: name, Mapping: mapping})}
	}
	r.locations[l] = list
	return list
}

func (r *reader) symbol(f frames.Frame) int32 {
	if i, ok := r.symbols[f.Name]; ok {
		return i
	}
	i := int32(len(r.samples.Symbols))
	s := Symbol{Name: f.Name, File: f.File, Origin: frames.OriginOf(f, r.samples.Window.Module), Kernel: f.IsKernel()}
	if f.IsGo() && !s.Kernel {
		s.Class = frames.ClassOf(f.Name)
	}
	r.samples.Symbols = append(r.samples.Symbols, s)
	r.symbols[f.Name] = i
	return i
}

// preferred are the values that are shown of a profile by default, the first that it has.
var preferred = map[profile.Kind][]string{
	"heap": {"inuse_space"}, "allocs": {"alloc_space"}, "mutex": {"delay"}, "block": {"delay"}, profile.CPU: {"cpu"},
}

// Pick returns the index of a value of a profile by its name. Without a name it is the usual one
// of the kind, or else the last. Its error lists the names.
func Pick(p *pprof.Profile, kind profile.Kind, name string) (int, error) {
	if len(p.SampleType) == 0 {
		return 0, errors.New("the profile has no values")
	}
	var names []string
	for _, t := range p.SampleType {
		names = append(names, t.Type)
	}
	if name != "" {
		if i := slices.Index(names, name); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("the profile has no value %q; it has %s", name, report.Line(strings.Join(names, ", ")))
	}
	for _, usual := range append(slices.Clone(preferred[kind]), p.DefaultSampleType) {
		if i := slices.Index(names, usual); i >= 0 {
			return i, nil
		}
	}
	return len(names) - 1, nil
}
