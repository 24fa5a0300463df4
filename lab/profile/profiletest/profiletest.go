// Package profiletest makes up profiles for tests.
package profiletest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// Of returns a profile of collapsed stacks: a line has functions, outermost first and separated by
// semicolons, a blank, and a value. Functions of Go have a source file; those that begin with "k:"
// are of the kernel, those with "c:" of a shared library. It panics on wrong lines.
func Of(kind, unit, collapsed string) *profile.Profile {
	m := maker{functions: map[string]*profile.Location{}, p: &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: kind, Unit: unit}},
		PeriodType: &profile.ValueType{Type: kind, Unit: unit}, Period: 1, DurationNanos: 2e9,
	}}
	for i, file := range []string{"/srv/program", "[kernel]", "/lib/libz.so.1"} {
		start := uint64(i+1) << 32
		m.p.Mapping = append(m.p.Mapping, &profile.Mapping{ID: uint64(i + 1), Start: start, Limit: start + 1<<31, File: file, HasFunctions: true})
	}
	for line := range strings.Lines(collapsed) {
		if line = strings.TrimSpace(line); line != "" {
			m.sample(line)
		}
	}
	if err := m.p.CheckValid(); err != nil {
		panic(err)
	}
	return m.p
}

type maker struct {
	p         *profile.Profile
	functions map[string]*profile.Location
}

func (m *maker) sample(line string) {
	at := strings.LastIndexByte(line, ' ')
	v, err := strconv.ParseInt(line[at+1:], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("line %q: %v", line, err))
	}
	s := &profile.Sample{Value: []int64{1, v}}
	names := strings.Split(line[:at], ";")
	for i := range names {
		s.Location = append(s.Location, m.location(names[len(names)-1-i]))
	}
	m.p.Sample = append(m.p.Sample, s)
}

func (m *maker) location(name string) *profile.Location {
	if l := m.functions[name]; l != nil {
		return l
	}
	id := uint64(len(m.functions) + 1)
	mapping, file, plain := m.p.Mapping[0], "/src/file.go", name
	if rest, ok := strings.CutPrefix(name, "k:"); ok {
		mapping, file, plain = m.p.Mapping[1], "", rest
	} else if rest, ok := strings.CutPrefix(name, "c:"); ok {
		mapping, file, plain = m.p.Mapping[2], "", rest
	}
	f := &profile.Function{ID: id, Name: plain, SystemName: plain, Filename: file, StartLine: int64(id * 10)}
	l := &profile.Location{ID: id, Mapping: mapping, Address: mapping.Start + id*16, Line: []profile.Line{{Function: f, Line: int64(id*10 + 1)}}}
	m.functions[name] = l
	m.p.Function, m.p.Location = append(m.p.Function, f), append(m.p.Location, l)
	return l
}
