package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
	loadcommand "github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/profile"
)

// Target is the command line that names a process, the profiles to take of it, and the load.
type Target struct {
	PID            int
	Tree           bool
	Control, PProf string
	Command        []string // to start
	Kinds          string
	For            time.Duration
	Hz             int
	NoKernel       bool
	Load           string // URL; empty: no load

	load    loadcommand.Flags
	names   []string          // flags of the load
	changed func(string) bool // reports whether a flag was written

	kinds []profile.Kind // parsed
	base  string         // of net/http/pprof
}

// Bind adds the flags to f. seconds is the default of --for.
func (t *Target) Bind(f *pflag.FlagSet, kinds string, seconds time.Duration) {
	f.SortFlags = false
	f.IntVar(&t.PID, "pid", 0, "`PID` of the process")
	f.BoolVar(&t.Tree, "tree", false, "its children too, when profiles are taken from outside")
	f.StringVar(&t.Control, "control", "", "take profiles from this control `SOCKET` of a Go service (docs/control.md)")
	f.StringVar(&t.PProf, "pprof", "", "take them from net/http/pprof at this `URL`, such as http://127.0.0.1:6060")
	f.StringVar(&t.Kinds, "kind", kinds, "`KINDS` of profiles: cpu,heap,allocs,mutex,block,goroutine,threadcreate and, from outside, offcpu,wall")
	f.DurationVar(&t.For, "for", seconds, "time that a profile covers, in whole seconds")
	f.IntVar(&t.Hz, "hz", 99, "samples a second on each CPU, when taken from outside")
	f.BoolVar(&t.NoKernel, "no-kernel", false, "leave out the kernel's functions, when taken from outside")
	f.StringVar(&t.Load, "load", "", "load this `URL` meanwhile, with the flags of redline load below")
}

// loadGroups are the groups of flags of the load, and loadNot those of their flags that it does not
// have: the verb decides how long it lasts, and nothing is searched or judged.
var (
	loadGroups = []string{"Load", "Request", "Users", "Connections", "TLS and HTTP/2"}
	loadNot    = []string{"duration", "requests", "find", "threshold", "try"}
)

// BindLoad adds the flags of the load. Call it when all other flags of the verb are there.
func (t *Target) BindLoad(f *pflag.FlagSet) {
	for _, g := range loadcommand.Groups {
		if slices.Contains(loadGroups, g.Title) {
			t.names = append(t.names, strings.Fields(g.Flags)...)
		}
	}
	t.names = slices.DeleteFunc(t.names, func(name string) bool { return slices.Contains(loadNot, name) || f.Lookup(name) != nil })
	t.load.BindOnly(f, nil, t.names...)
	t.changed = f.Changed
}

// Groups returns the groups of flags of a verb, for its help text.
func (t *Target) Groups(more ...cli.Group) []cli.Group {
	groups := []cli.Group{{Title: "Target", Flags: "pid tree control pprof"}, {Title: "Profile", Flags: "kind for hz no-kernel value"}}
	groups = append(groups, more...)
	return append(groups, cli.Group{Title: "Load", Flags: "load " + strings.Join(t.names, " ")}, cli.Group{Title: "Other", Flags: "help color"})
}

// named reports whether a process is named.
func (t *Target) named() bool {
	return t.PID != 0 || t.Control != "" || t.PProf != "" || len(t.Command) > 0
}

// check checks the flags, and parses kinds and URL.
func (t *Target) check() (err error) {
	defer func() {
		if err != nil {
			err = cli.Misuse(err)
		}
	}()
	switch {
	case t.PID < 0:
		return fmt.Errorf("--pid %d: write the id of a process", t.PID)
	case t.PID != 0 && len(t.Command) > 0:
		return fmt.Errorf("--pid %d and a command to start: use one of the two", t.PID)
	case t.For < time.Second || t.For > time.Hour:
		return fmt.Errorf("--for %v: write a time from 1s to 1h", t.For)
	case t.Hz < 1 || t.Hz > 10_000:
		return fmt.Errorf("--hz %d: write a number from 1 to 10000", t.Hz)
	}
	if i := slices.IndexFunc(t.names, t.changed); t.Load == "" && i >= 0 {
		return fmt.Errorf("--%s is for a load: name its URL with --load", t.names[i])
	}
	t.For = t.For.Truncate(time.Second)
	if t.PProf != "" {
		if t.base, err = observe.ParseBase(t.PProf); err != nil {
			return fmt.Errorf("--pprof: %w", err)
		}
	}
	t.kinds = nil
	for word := range strings.SplitSeq(t.Kinds, ",") {
		kinds := []profile.Kind{profile.Kind(strings.TrimSpace(word))}
		if !kinds[0].Outside() {
			if kinds, err = profile.Parse(word); err != nil {
				return fmt.Errorf("--kind: %w; from outside also offcpu,wall", err)
			}
		}
		if slices.Contains(t.kinds, kinds[0]) {
			return fmt.Errorf("--kind: %s is named twice", kinds[0])
		}
		t.kinds = append(t.kinds, kinds[0])
	}
	return nil
}

// View is the command line that says what is shown of profiles.
type View struct {
	Value                           string
	Top                             int
	ByCum, Calls                    bool
	List, Disasm                    string
	Source, Binary                  string
	PProfOut, Speedscope, Collapsed string
	HTML                            string
	Diff                            bool
	list, disasm                    *regexp.Regexp
}

// Bind adds the flags to f.
func (v *View) Bind(f *pflag.FlagSet) {
	f.StringVar(&v.Value, "value", "", "`NAME` of the value to show, as inuse_space or alloc_objects (default: the usual one of the kind)")
	f.IntVar(&v.Top, "top", 20, "number of functions in the table")
	f.BoolVar(&v.ByCum, "cum", false, "order them by the value with their callees")
	f.BoolVar(&v.Calls, "calls", false, "show the tree of calls too")
	f.StringVar(&v.List, "list", "", "show the source of the functions that match this `REGEXP`, with values")
	f.StringVar(&v.Disasm, "disasm", "", "show their instructions, with values")
	f.StringVar(&v.Source, "source", "", "`DIRECTORY` of the source, if it is not where it was built")
	f.StringVar(&v.Binary, "binary", "", "`FILE` with the code of the program, if it is not where it ran")
	f.StringVar(&v.HTML, "html", "", "write a page with a flame graph to this `FILE`")
	f.StringVar(&v.PProfOut, "pprof-out", "", "write the profile to this `FILE`, in the format of pprof")
	f.StringVar(&v.Speedscope, "speedscope", "", "write it to this `FILE` for speedscope")
	f.StringVar(&v.Collapsed, "collapsed", "", "write its stacks to this `FILE`, one a line, as flamegraph.pl reads them")
	f.BoolVar(&v.Diff, "diff", false, "compare two files: BEFORE AFTER")
}

// check checks the flags.
func (v *View) check() (err error) {
	if v.Top < 1 {
		return cli.Usage("--top %d: want at least 1", v.Top)
	}
	if v.list, err = compile(v.List); err != nil {
		return cli.Usage("--list: %w", err)
	}
	if v.disasm, err = compile(v.Disasm); err != nil {
		return cli.Usage("--disasm: %w", err)
	}
	files := map[string]string{}
	for _, out := range []struct{ flag, path string }{{"html", v.HTML}, {"pprof-out", v.PProfOut}, {"speedscope", v.Speedscope}, {"collapsed", v.Collapsed}} {
		if other, ok := files[out.path]; ok && out.path != "" {
			return cli.Usage("--%s and --%s: both would be written to %s; name two files", other, out.flag, out.path)
		}
		files[out.path] = out.flag
	}
	if v.Diff && (v.list != nil || v.disasm != nil || v.Calls || v.PProfOut != "" || v.Speedscope != "" || v.Collapsed != "") {
		return cli.Misuse(errors.New("--diff shows a table and, with --html, a page: leave out the other outputs"))
	}
	return nil
}

func compile(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	return regexp.Compile(text)
}

// outputs refuses output files that cannot be written, or would replace an input.
func (v *View) outputs(files []string) error {
	for _, out := range []struct{ flag, path string }{{"html", v.HTML}, {"pprof-out", v.PProfOut}, {"speedscope", v.Speedscope}, {"collapsed", v.Collapsed}} {
		if err := cli.CheckOutput(out.flag, out.path, files...); err != nil {
			return err
		}
	}
	return nil
}
