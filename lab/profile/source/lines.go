package source

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/report"
)

const (
	mostFunctions = 20      // that are shown
	mostLines     = 2000    // of a function
	around        = 4       // lines shown before the first and after the last with samples
	largestSource = 8 << 20 // bytes of a source file
	widestLine    = 300     // bytes of a line that is shown
)

// Options say what is shown, and how values are printed.
type Options struct {
	Value  int                      // index of the value
	Match  *regexp.Regexp           // of the names of functions
	Print  func(v float64) string   // prints a value
	Each   func(v float64) string   // prints a value for each request; nil: the requests are unknown
	Dirs   []string                 // where source files are looked for, in addition to their path
	Binary func(file string) string // returns the file that has the code of a mapping's file
}

// ErrNone is the error if no function with samples matches.
var ErrNone = errors.New("no function with samples matches; the names are those of the table")

// cost are the values of a line or an instruction.
type cost struct{ flat, cum int64 }

// listed is a function with its lines.
type listed struct {
	name, file string
	start      int64 // line; 0: unknown
	lines      map[int64]*cost
	total      cost
}

// List writes the source of the functions that match, with the values of each line.
func List(w io.Writer, p *pprof.Profile, o Options) error {
	list := lines(p, o)
	if len(list) == 0 {
		return fmt.Errorf("--list %s: %w", o.Match, ErrNone)
	}
	var b strings.Builder
	for _, f := range list[:min(len(list), mostFunctions)] {
		fmt.Fprintf(&b, "%s\n%s, flat %s, cum %s\n", report.Line(f.name), report.Line(f.file), o.Print(float64(f.total.flat)), o.Print(float64(f.total.cum)))
		text, err := readSource(f.file, o.Dirs)
		if err != nil {
			fmt.Fprintf(&b, "the source is missing: %v; name its directory with --source\n", err)
		}
		f.write(&b, text, o)
		b.WriteString("\n")
	}
	if more := len(list) - mostFunctions; more > 0 {
		fmt.Fprintf(&b, "%d more functions match\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lines adds up the values of all lines of the functions that match, the function with the
// largest cumulative value first.
func lines(p *pprof.Profile, o Options) []*listed {
	found := map[*pprof.Function]*listed{}
	for _, f := range p.Function {
		if o.Match.MatchString(f.Name) {
			found[f] = &listed{name: f.Name, file: f.Filename, start: f.StartLine, lines: map[int64]*cost{}}
		}
	}
	type place struct {
		f    *listed
		line int64
	}
	for _, s := range p.Sample {
		v := s.Value[o.Value]
		seen, within := map[place]bool{}, map[*listed]bool{} // recursion counts once
		for i, l := range s.Location {
			for j, line := range l.Line {
				f := found[line.Function]
				if f == nil {
					continue
				}
				at := f.lines[line.Line]
				if at == nil {
					at = &cost{}
					f.lines[line.Line] = at
				}
				if i == 0 && j == 0 {
					at.flat += v
					f.total.flat += v
				}
				if !seen[place{f, line.Line}] {
					seen[place{f, line.Line}] = true
					at.cum += v
				}
				if !within[f] {
					within[f] = true
					f.total.cum += v
				}
			}
		}
	}
	list := slices.DeleteFunc(slices.Collect(maps.Values(found)), func(f *listed) bool { return len(f.lines) == 0 })
	slices.SortFunc(list, func(a, b *listed) int {
		return cmp.Or(cmp.Compare(b.total.cum, a.total.cum), cmp.Compare(a.name, b.name))
	})
	return list
}

// write writes the lines of a function. Without the source, only lines with samples are
// written.
func (f *listed) write(b *strings.Builder, text []string, o Options) {
	numbers := slices.Sorted(maps.Keys(f.lines))
	first, last := numbers[0]-around, numbers[len(numbers)-1]+around
	if f.start > 0 && f.start <= numbers[0] && numbers[0]-f.start < mostLines {
		first = f.start
	}
	if len(text) > 0 {
		numbers = nil
		for n := max(first, 1); n <= min(last, int64(len(text))) && len(numbers) < mostLines; n++ {
			numbers = append(numbers, n)
		}
	}
	b.WriteString(o.head() + "\n")
	for _, n := range numbers {
		code := ""
		if n >= 1 && n <= int64(len(text)) {
			code = text[n-1]
		}
		b.WriteString(o.values(f.lines[n]) + fmt.Sprintf("  %5d  %s\n", n, code))
	}
}

// head returns the names of the columns.
func (o *Options) head() string {
	if o.Each == nil {
		return fmt.Sprintf("%10s %10s", "flat", "cum")
	}
	return fmt.Sprintf("%10s %10s %10s", "flat", "cum", "cum/req")
}

// values returns the columns of a line or an instruction; c may be nil.
func (o *Options) values(c *cost) string {
	flat, cum, each := ".", ".", "."
	if c != nil {
		if c.flat != 0 {
			flat = o.Print(float64(c.flat))
		}
		if cum = o.Print(float64(c.cum)); o.Each != nil {
			each = o.Each(float64(c.cum))
		}
	}
	row := fmt.Sprintf("%10s %10s", flat, cum)
	if o.Each != nil {
		row += fmt.Sprintf(" %10s", each)
	}
	return row
}

// readSource returns the lines of a source file. The path comes from the profile: only regular
// files of a bounded size are read.
func readSource(file string, dirs []string) (text []string, err error) {
	path, err := findSource(file, dirs)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, largestSource))
	in.Buffer(nil, largestSource)
	for in.Scan() {
		line := strings.ReplaceAll(in.Text(), "\t", "    ")
		text = append(text, strings.Map(printable, line[:min(len(line), widestLine)]))
	}
	return text, in.Err()
}

// printable removes control characters.
func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}

// findSource returns the path of a source file: as the profile has it, or with as many of its
// last elements as possible in one of the directories. Go programs that were built with -trimpath
// have paths that begin with a module.
func findSource(file string, dirs []string) (string, error) {
	if file == "" {
		return "", errors.New("the profile does not name the file")
	}
	regular := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Size() <= largestSource
	}
	if filepath.IsAbs(file) && regular(file) {
		return file, nil
	}
	if root := os.Getenv("GOROOT"); root != "" {
		dirs = append(slices.Clone(dirs), filepath.Join(root, "src"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(slices.Clone(dirs), filepath.Join(home, "go", "pkg", "mod"))
	}
	elements := strings.Split(filepath.ToSlash(filepath.Clean("/"+file)), "/")
	for _, dir := range dirs {
		for i := 1; i < min(len(elements), 40); i++ {
			if path := filepath.Join(dir, filepath.Join(elements[i:]...)); regular(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("there is no file %s", report.Line(file))
}
