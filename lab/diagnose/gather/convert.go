package gather

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/profile/frames"
)

// The labels of goroutines in profiles.
const (
	stateLabel = "state"
	waitLabel  = "wait"
)

// converter converts profiles of one server.
type converter struct {
	module   string // of a Go program
	language string
	program  string // base name of the executable
	frames   map[line]diagnose.Frame
}

type line struct {
	function *profile.Function
	line     int64
	mapping  *profile.Mapping
}

func newConverter(s *diagnose.Server) *converter {
	return &converter{module: s.Module, language: s.Language, program: s.Command, frames: map[line]diagnose.Frame{}}
}

// stacks converts one value of the samples of a profile, multiplied by scale.
func (c *converter) stacks(p *profile.Profile, value string, scale float64) *diagnose.Stacks {
	index, objects := len(p.SampleType)-1, -1
	for i, t := range p.SampleType {
		switch t.Type {
		case value:
			index = i
		case "alloc_objects":
			objects = i
		}
	}
	out := &diagnose.Stacks{}
	if index < 0 {
		return out
	}
	for _, s := range p.Sample {
		weight := float64(s.Value[index]) * scale
		if weight <= 0 {
			continue
		}
		k := diagnose.Stack{Weight: weight, State: label(s, stateLabel), Wait: label(s, waitLabel)}
		if objects >= 0 {
			k.Objects = float64(s.Value[objects])
		}
		for _, l := range s.Location {
			if len(l.Line) == 0 {
				k.Frames = append(k.Frames, diagnose.Frame{Kind: c.unnamed(l.Mapping)})
			}
			for _, ln := range l.Line { // the innermost inlined function first
				k.Frames = append(k.Frames, c.frame(ln, l.Mapping))
			}
		}
		out.List = append(out.List, k)
		out.Total += weight
	}
	clear(c.frames) // its keys belong to this profile
	return out
}

func label(s *profile.Sample, name string) string {
	if list := s.Label[name]; len(list) > 0 {
		return list[0]
	}
	return ""
}

func (c *converter) frame(ln profile.Line, m *profile.Mapping) diagnose.Frame {
	if ln.Function == nil {
		return diagnose.Frame{Kind: c.unnamed(m)}
	}
	key := line{ln.Function, ln.Line, m}
	f, ok := c.frames[key]
	if !ok {
		f = diagnose.Frame{Func: ln.Function.Name, File: ln.Function.Filename, Line: int(ln.Line)}
		f.Kind = c.kind(f, m)
		c.frames[key] = f
	}
	return f
}

// kinds are the kinds of code by their origin.
var kinds = map[frames.Origin]diagnose.Kind{
	frames.User: diagnose.User, frames.Library: diagnose.Library, frames.Standard: diagnose.Standard,
	frames.Runtime: diagnose.Runtime, frames.Kernel: diagnose.System, frames.Unknown: diagnose.Library,
}

// kind says to whom a function belongs.
func (c *converter) kind(f diagnose.Frame, m *profile.Mapping) diagnose.Kind {
	at := frames.Frame{Name: f.Func, File: f.File}
	if m != nil {
		at.Mapping = m.File
	}
	switch {
	case c.language == Go || at.IsKernel():
		return kinds[frames.OriginOf(at, c.module)]
	case strings.HasPrefix(f.File, "node:"), strings.Contains(f.Func, " node:"):
		return diagnose.Standard
	case strings.Contains(f.Func, "/node_modules/"), strings.Contains(f.File, "/site-packages/"):
		return diagnose.Library
	case at.Mapping == "" || strings.HasPrefix(at.Mapping, "//anon"): // compiled at run time
		return diagnose.User
	}
	return c.unnamed(m)
}

// unnamed says to whom code without a name belongs.
func (c *converter) unnamed(m *profile.Mapping) diagnose.Kind {
	switch {
	case m == nil:
		return diagnose.Library
	case (frames.Frame{Mapping: m.File}).IsKernel():
		return diagnose.System
	case filepath.Base(m.File) != c.program:
		return diagnose.Library
	case slices.Contains(interpreters, c.language):
		return diagnose.Runtime
	}
	return diagnose.User
}
