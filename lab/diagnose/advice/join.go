package advice

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

const (
	leastBytes = 16   // an answer: less is not worth a line
	leastShare = 0.01 // of all allocated bytes
	mostAdvice = 50
)

// Join returns advice for the lines of the sources under root that allocate under the load, the
// most bytes an answer first.
func Join(l *diagnose.Load, escapes []Escape, root string) []diagnose.Advice {
	if l == nil || l.Allocs == nil || l.Answers() <= 0 {
		return nil
	}
	answers := l.Answers()
	own := func(f diagnose.Frame) bool { return f.Kind == diagnose.User && f.Line > 0 }
	lines := &source{root: root}
	var out []diagnose.Advice
	for _, site := range nearest(l.Allocs, own) {
		each := site.Weight / answers
		if each < leastBytes || site.Weight < leastShare*l.Allocs.Total {
			continue
		}
		file, ok := lines.find(site.Frame.File)
		if !ok {
			continue
		}
		a := diagnose.Advice{File: file, Line: site.Frame.Line, Bytes: each}
		text := lines.line(file, site.Frame.Line)
		i := slices.IndexFunc(escapes, func(e Escape) bool { return e.File == file && e.Line == site.Frame.Line })
		if i >= 0 {
			a.What, a.Reason = escapes[i].What, reason(&escapes[i])
		} else {
			a.What, a.Reason = text, "allocated by what this line calls"
		}
		a.Do = remedy(a.What, text, i >= 0, escapesHow(escapes, i), each)
		if out = append(out, a); len(out) == mostAdvice {
			break
		}
	}
	return out
}

// nearest returns the innermost matching frame of each stack, with the sums of their weights.
func nearest(s *diagnose.Stacks, m diagnose.Match) []diagnose.Site {
	type key struct {
		file string
		line int
	}
	sums := map[key]*diagnose.Site{}
	for i := range s.List {
		k := &s.List[i]
		j := slices.IndexFunc(k.Frames, m)
		if j < 0 {
			continue
		}
		f := k.Frames[j]
		at := key{f.File, f.Line}
		if sums[at] == nil {
			sums[at] = &diagnose.Site{Frame: f}
		}
		sums[at].Weight += k.Weight
	}
	var list []diagnose.Site
	for _, site := range sums {
		list = append(list, *site)
	}
	slices.SortFunc(list, func(a, b diagnose.Site) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Frame.File, b.Frame.File), cmp.Compare(a.Frame.Line, b.Frame.Line))
	})
	return list
}

func escapesHow(escapes []Escape, i int) string {
	if i < 0 {
		return ""
	}
	return escapes[i].How
}

// reason says why a value escapes.
func reason(e *Escape) string {
	switch {
	case e.How == "":
		return "its size is not known when it is compiled, or it is too large for the stack"
	case e.How == "return":
		return "it is returned by pointer: " + e.Where
	case strings.HasPrefix(e.How, "call parameter"):
		return "it is passed to a function that may keep it: " + e.Where
	case strings.HasPrefix(e.How, "captured"):
		return "a closure that outlives the function captures it: " + e.Where
	case e.How == "interface-converted":
		return "it is converted to an interface: " + e.Where
	case strings.HasPrefix(e.How, "assign"):
		return "it is stored where it outlives the function: " + e.Where
	}
	return "it outlives the function (" + e.How + "): " + e.Where
}

// poolable is the size in bytes from which on a pool is worth its code.
const poolable = 1024

// remedy says what would stop the allocation of a line.
func remedy(what, line string, escapes bool, how string, each float64) string {
	switch {
	case strings.HasPrefix(what, "make([]byte") && each >= poolable, strings.Contains(what, "bytes.Buffer") && each >= poolable:
		return "take the buffer from a sync.Pool and put it back when the answer is written"
	case strings.HasPrefix(what, "make("):
		return "allocate it once and reuse it, or give it a constant size so that it can stay on the stack"
	case strings.Contains(line, "append("):
		return "allocate the slice with its final capacity: make([]T, 0, n)"
	case strings.HasPrefix(what, "([]byte)(") || strings.HasPrefix(what, "[]byte("):
		return "avoid the conversion: io.WriteString(w, s), or keep the value as []byte"
	case strings.HasPrefix(what, "string("):
		return "avoid the conversion: keep the value as []byte, or convert it once"
	case strings.Contains(line, "fmt.Sprint"), strings.Contains(line, "fmt.Errorf"), strings.Contains(line, "fmt.Fprint"):
		return "format with strconv.Append... into a buffer that is reused: fmt puts each argument into an interface"
	case strings.Contains(line, "+=") && strings.Contains(line, "\"") || strings.Contains(what, " + "):
		return "build the text in a strings.Builder with Grow, or append to one []byte"
	case strings.HasPrefix(what, "func literal"):
		return "pass what the closure needs as arguments, or make it a method"
	case strings.HasPrefix(what, "map["):
		return "reuse the map with clear, or use a struct or a slice if the keys are few and known"
	case how == "return":
		return "return the value and not a pointer, if it is small; or let the caller pass where to write"
	case escapes && strings.HasPrefix(what, "&"):
		return "use a value instead of a pointer, or reuse the object with a sync.Pool"
	case strings.Contains(line, "json."):
		return "decode into a struct that is reused, and encode with one Encoder for each connection or a generated codec"
	case strings.Contains(line, "io.ReadAll"):
		return "read into a buffer of the announced length, or stream the body"
	}
	return "reuse what is allocated here, or do it once outside of the handler"
}

// source finds and reads source files under a directory.
type source struct {
	root  string
	files map[string][]string // lines of files that were read
	dirs  map[string]string   // found names
}

// find returns the file that a stack names. With -trimpath that is an import path and a base name.
func (s *source) find(name string) (string, bool) {
	if s.dirs == nil {
		s.dirs = map[string]string{}
	}
	if found, ok := s.dirs[name]; ok {
		return found, found != ""
	}
	found := ""
	if abs, err := filepath.Abs(s.root); err == nil {
		if filepath.IsAbs(name) {
			if rel, err := filepath.Rel(abs, name); err == nil && filepath.IsLocal(rel) {
				found = name
			}
		} else {
			// Of example.com/shop/internal/cart/cart.go the longest tail that exists.
			for rest := name; ; {
				if p := filepath.Join(abs, rest); filepath.IsLocal(rest) && isFile(p) {
					found = p
					break
				}
				_, tail, more := strings.Cut(rest, "/")
				if !more {
					break
				}
				rest = tail
			}
		}
	}
	s.dirs[name] = found
	return found, found != ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// line returns a line of a file, without space around it; empty if it cannot be read.
func (s *source) line(file string, n int) string {
	if s.files == nil {
		s.files = map[string][]string{}
	}
	lines, ok := s.files[file]
	if !ok {
		if f, err := os.Open(file); err == nil {
			scan := bufio.NewScanner(f)
			scan.Buffer(nil, mostLine)
			for scan.Scan() {
				lines = append(lines, scan.Text())
			}
			_ = f.Close() // it was only read
		}
		s.files[file] = lines
	}
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}
