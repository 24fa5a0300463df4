package advice

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Escape is a value that the compiler puts on the heap.
type Escape struct {
	File  string // absolute
	Line  int
	What  string // as the compiler writes it: &item{...}, make([]byte, n), x
	How   string // the last step of its way: call parameter, return, assign, interface-converted ...
	Where string // the code of that step
}

const (
	buildTime  = 5 * time.Minute
	mostOutput = 256 << 20 // of the compiler
	mostLine   = 1 << 20
)

// ErrBuild is the error of sources that the compiler does not accept.
var ErrBuild = errors.New("the sources do not build")

// Escapes compiles packages, such as ./..., from a directory, and returns what escapes. It writes
// no binary.
func Escapes(ctx context.Context, dir string, packages ...string) ([]Escape, error) {
	ctx, stop := context.WithTimeout(ctx, buildTime)
	defer stop()
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-gcflags=-m=2", "-o", "/dev/null", "--"}, packages...)...)
	cmd.Dir, cmd.WaitDelay = root, time.Second
	ownGroup(cmd)
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("read escapes: %w", err)
	}
	list, broken, err := parse(io.LimitReader(out, mostOutput), root)
	_, _ = io.Copy(io.Discard, out) // so that the compiler can end
	if ended := cmd.Wait(); ended != nil {
		return nil, fmt.Errorf("read escapes: %w: %w\n%s", ErrBuild, ended, broken)
	}
	return list, err
}

var (
	head = regexp.MustCompile(`^(\S+?\.go):(\d+):\d+: (.*)$`)
	step = regexp.MustCompile(`^ +from (.*) \(([^()]*(?:\([^()]*\))?[^()]*)\) at `)
)

// parse reads the compiler's output. broken is the end of what is no diagnosis, such as errors.
func parse(r io.Reader, root string) (list []Escape, broken string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, mostLine)
	var tail faults
	var open *Escape // whose way is being read
	for lines.Scan() {
		m := head.FindStringSubmatch(lines.Text())
		if m == nil {
			tail.fault(lines.Text())
			continue
		}
		text := m[3]
		if strings.HasPrefix(text, " ") {
			if s := step.FindStringSubmatch(text); s != nil && open != nil {
				open.Where, open.How = s[1], s[2]
			}
			continue
		}
		line, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		e := Escape{File: m[1], Line: line}
		if !filepath.IsAbs(e.File) {
			e.File = filepath.Join(root, e.File)
		}
		open = nil
		way := false
		if e.What, way = escaped(text); e.What == "" {
			tail.fault(lines.Text())
			continue
		}
		// The way is told first, and the fact alone later.
		if !way && slices.ContainsFunc(list, func(o Escape) bool { return o.File == e.File && o.Line == e.Line && o.What == e.What }) {
			continue
		}
		list = append(list, e)
		if way {
			open = &list[len(list)-1]
		}
	}
	return list, tail.String(), lines.Err()
}

// escaped returns what a line of the compiler says to be on the heap, and whether its way follows;
// empty if it says something else.
func escaped(text string) (what string, way bool) {
	if what, rest, ok := strings.Cut(text, " escapes to heap"); ok && (rest == "" || strings.HasPrefix(rest, " in ")) {
		return what, strings.HasSuffix(rest, ":")
	}
	if what, ok := strings.CutSuffix(text, " does not escape"); ok && sized.MatchString(what) {
		return what, false
	}
	what, _ = strings.CutPrefix(text, "moved to heap: ")
	if what == text {
		return "", false
	}
	return what, false
}

// sized matches values that do not escape, and are still on the heap if they are larger than the
// few bytes that the compiler reserves on the stack: their size is known only when they are made.
var sized = regexp.MustCompile(`^(make\(\[\]|\(\[\]byte\)\(|\[\]byte\(|\(\[\]rune\)\(|string\()| \+ `)

// faults keeps the lines that may be errors: those that are no diagnosis of the optimizer.
type faults struct{ strings.Builder }

const mostFaults = 4 << 10

// talk is what the optimizer writes beside escapes.
var talk = regexp.MustCompile(`: (can inline|cannot inline|inlining call|parameter |leaking param|.* does not escape|.* capturing by|.* ignoring self-assignment|devirtualizing|.* (leaks|escapes) to )`)

func (f *faults) fault(line string) {
	if !strings.HasPrefix(line, "#") && !talk.MatchString(line) && f.Len() < mostFaults {
		f.WriteString(line + "\n")
	}
}
