package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/profile/frames"
)

// Kind says to whom the code of a frame belongs.
type Kind uint8

// The kinds of code.
const (
	User     Kind = iota // of the server: its main module
	Library              // another module, or a shared library
	Standard             // Go's standard library
	Runtime              // Go's runtime, or that of another language
	System               // the kernel
)

// A Frame is one call of a stack.
type Frame struct {
	Func string `json:"func,omitempty"` // with the package's path, as encoding/json.(*decodeState).object
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Kind Kind   `json:"kind"`
}

// Package returns the path of the package of a Go function, as encoding/json; empty for others.
func (f Frame) Package() string { return frames.Package(f.Func) }

// A Stack is a call stack with its weight.
type Stack struct {
	Frames []Frame `json:"frames"` // innermost first
	Weight float64 `json:"weight"`
	State  string  `json:"state,omitempty"` // of goroutines: running, runnable, syscall or waiting
	Wait   string  `json:"wait,omitempty"`  // of waiting goroutines: the reason as the runtime names it, such as "sync.Mutex.Lock", or "timer"

	Objects float64 `json:"objects,omitempty"` // of allocations: their number, as the weight is their bytes; 0: unknown
}

// Stacks are the stacks of one profile.
type Stacks struct {
	Total float64 `json:"total"`
	List  []Stack `json:"list"`
}

// A Match selects frames.
type Match func(Frame) bool

// In matches the functions of packages and, if a path ends in /..., of those below it.
func In(packages ...string) Match {
	return func(f Frame) bool {
		p := f.Package()
		return slices.ContainsFunc(packages, func(want string) bool {
			if tree, ok := strings.CutSuffix(want, "/..."); ok {
				return p == tree || strings.HasPrefix(p, tree+"/")
			}
			return p == want
		})
	}
}

// Called matches functions by name. A name that ends in * matches all that begin with it.
func Called(functions ...string) Match {
	return func(f Frame) bool {
		return slices.ContainsFunc(functions, func(want string) bool {
			if start, ok := strings.CutSuffix(want, "*"); ok {
				return strings.HasPrefix(f.Func, start)
			}
			return f.Func == want
		})
	}
}

// Of matches a kind of code.
func Of(kinds ...Kind) Match { return func(f Frame) bool { return slices.Contains(kinds, f.Kind) } }

// Any matches what one of the others matches.
func Any(list ...Match) Match {
	return func(f Frame) bool { return slices.ContainsFunc(list, func(m Match) bool { return m(f) }) }
}

// Has reports whether a frame of the stack matches.
func (s *Stack) Has(m Match) bool { return slices.ContainsFunc(s.Frames, m) }

// Share returns the weight of the stacks with a frame that matches, as a share of all. It is 0
// without stacks.
func (s *Stacks) Share(m Match) float64 {
	if s == nil || s.Total == 0 {
		return 0
	}
	return s.With(m).Total / s.Total
}

// With returns the stacks with a frame that matches. A nil list has none.
func (s *Stacks) With(m Match) *Stacks {
	return s.Filter(func(k *Stack) bool { return k.Has(m) })
}

// Without returns the stacks without such a frame.
func (s *Stacks) Without(m Match) *Stacks {
	return s.Filter(func(k *Stack) bool { return !k.Has(m) })
}

// Filter returns the stacks for which keep reports true.
func (s *Stacks) Filter(keep func(*Stack) bool) *Stacks {
	out := &Stacks{}
	if s == nil {
		return out
	}
	for i := range s.List {
		if keep(&s.List[i]) {
			out.List = append(out.List, s.List[i])
			out.Total += s.List[i].Weight
		}
	}
	return out
}

// A Site is a place in the code, with the weight of the stacks that lead through it.
type Site struct {
	Frame  Frame
	Weight float64
}

// Sites returns the places that lead to matching frames: of each stack with a match the nearest
// caller beyond the outermost match that is the server's own code, or else the nearest that is a
// library's; the heaviest first.
func (s *Stacks) Sites(m Match) []Site {
	if s == nil {
		return nil
	}
	type key struct {
		name string
		line int
	}
	sums := map[key]*Site{}
	for i := range s.List {
		f, ok := s.List[i].site(m)
		if !ok {
			continue
		}
		k := key{f.Func, f.Line}
		if sums[k] == nil {
			sums[k] = &Site{Frame: f}
		}
		sums[k].Weight += s.List[i].Weight
	}
	list := make([]Site, 0, len(sums))
	for _, site := range sums {
		list = append(list, *site)
	}
	slices.SortFunc(list, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Frame.Func, b.Frame.Func), cmp.Compare(a.Frame.Line, b.Frame.Line))
	})
	return list
}

// site returns the place that leads to the match.
func (s *Stack) site(m Match) (f Frame, ok bool) {
	first := slices.IndexFunc(s.Frames, m)
	if first < 0 {
		return f, false
	}
	for _, kind := range []Kind{User, Library} {
		for _, f := range s.Frames[first:] {
			if f.Kind == kind {
				return f, true
			}
		}
	}
	return s.Frames[len(s.Frames)-1], true
}
