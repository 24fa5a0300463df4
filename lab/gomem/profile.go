package gomem

import (
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// maxSamples bounds the different samples of a profile. What is beyond is added to one sample.
const maxSamples = 1 << 15

// A collector makes a profile in the format of pprof of stacks.
type collector struct {
	out       *profile.Profile
	syms      *symbols
	samples   map[sampleKey]*profile.Sample
	locations map[locationKey]*profile.Location
	functions map[functionKey]*profile.Function
	rest      *Stack // of samples beyond the bound
}

type sampleKey struct {
	stack  *Stack
	labels string
}

type locationKey struct {
	pc    uint64
	depth int // frames
}

type functionKey struct {
	name, file string
	start      int
}

// collect begins a profile with types of samples: name, unit, name, unit...
func (s *symbols) collect(types ...string) *collector {
	from, to := s.table.Text()
	m := &profile.Mapping{
		ID: 1, Start: from + s.bias, Limit: to + s.bias, File: s.path,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	c := &collector{
		out: &profile.Profile{Mapping: []*profile.Mapping{m}}, syms: s,
		samples: map[sampleKey]*profile.Sample{}, locations: map[locationKey]*profile.Location{}, functions: map[functionKey]*profile.Function{},
		rest: &Stack{Frames: []Frame{{Symbol: "[more stacks]"}}, Cut: true},
	}
	for i := 0; i+1 < len(types); i += 2 {
		c.out.SampleType = append(c.out.SampleType, &profile.ValueType{Type: types[i], Unit: types[i+1]})
	}
	return c
}

// sample returns the sample of a stack with some labels: name, value, name, value... Its values
// are added to by the caller.
func (c *collector) sample(st *Stack, labels ...string) *profile.Sample {
	key := sampleKey{st, strings.Join(labels, "\x00")}
	if s, ok := c.samples[key]; ok {
		return s
	}
	if len(c.samples) >= maxSamples && st != c.rest {
		return c.sample(c.rest)
	}
	s := &profile.Sample{Value: make([]int64, len(c.out.SampleType)), Location: c.path(st.Frames)}
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] != "" {
			if s.Label == nil {
				s.Label = map[string][]string{}
			}
			s.Label[labels[i]] = []string{labels[i+1]}
		}
	}
	c.samples[key] = s
	c.out.Sample = append(c.out.Sample, s)
	return s
}

// path returns the locations of a stack: functions that were inlined share that of the function
// which has their code.
func (c *collector) path(frames []Frame) []*profile.Location {
	var list []*profile.Location
	for len(frames) > 0 {
		n := 1
		for n < len(frames) && frames[n-1].Inlined {
			n++
		}
		list = append(list, c.location(frames[:n]))
		frames = frames[n:]
	}
	return list
}

func (c *collector) location(frames []Frame) *profile.Location {
	key := locationKey{frames[0].PC, len(frames)}
	l, ok := c.locations[key]
	if ok && frames[0].PC != 0 {
		return l
	}
	l = &profile.Location{ID: uint64(len(c.out.Location) + 1)}
	if frames[0].PC != 0 {
		l.Mapping, l.Address = c.out.Mapping[0], frames[0].PC+c.syms.bias
		c.locations[key] = l
	}
	for _, f := range frames {
		l.Line = append(l.Line, profile.Line{Function: c.function(f), Line: int64(f.Line)})
	}
	c.out.Location = append(c.out.Location, l)
	return l
}

func (c *collector) function(f Frame) *profile.Function {
	key := functionKey{f.Symbol, f.File, f.Start}
	fn, ok := c.functions[key]
	if !ok {
		fn = &profile.Function{ID: uint64(len(c.out.Function) + 1), Name: f.Symbol, SystemName: f.Symbol, Filename: f.File, StartLine: int64(f.Start)}
		c.functions[key] = fn
		c.out.Function = append(c.out.Function, fn)
	}
	return fn
}

// note adds a comment to the profile.
func (c *collector) note(format string, args ...any) {
	c.out.Comments = append(c.out.Comments, fmt.Sprintf(format, args...))
}

// profile returns the profile without samples that are nothing.
func (c *collector) profile() (*profile.Profile, error) {
	some := c.out.Sample[:0]
	for _, s := range c.out.Sample {
		for _, v := range s.Value {
			if v != 0 {
				some = append(some, s)
				break
			}
		}
	}
	c.out.Sample = some
	if err := c.out.CheckValid(); err != nil {
		return nil, fmt.Errorf("make a profile: %w", err)
	}
	return c.out, nil
}
