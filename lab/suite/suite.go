package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/spawn"
	"github.com/redline-go/redline/lab/suite/toolchain"
)

// Config holds what to compare, and how.
type Config struct {
	Mode           string // quick, full or custom; only recorded
	Subjects       []string
	Baseline       string // one of Subjects
	BaselineSet    bool   // the user has named it: no other takes its place
	Workloads      []string
	Connections    int
	ConnectionsSet bool // Connections overrides the workloads' own numbers
	Window, Warmup time.Duration
	Fit            bool          // with shorter ones, down to the shortest, if the blocks do not fit the budget
	Blocks         int           // more are added if disturbances leave too few usable pairs
	Budget         time.Duration // for the blocks, without builds, checks and ceilings; 0: no limit
	Margins        Margins       // of equivalences; nil: the default ones
	Seed           uint64
	ServerCPUs     []int
	GeneratorCPUs  []int
	Congestion     string // TCP congestion control on both sides; empty: the system's
	Executable     string // the redline command, which is also the generator
	Tool           string // its version
	Command        []string
	Go             []toolchain.Toolchain // that subjects are built with; none: the command go as it is
	Notes          []string              // for the results

	fixed bool // no blocks are added to Blocks
}

// SharedCPU returns the first CPU that server and generator share, if they share one.
func (c *Config) SharedCPU() (int, bool) {
	i := slices.IndexFunc(c.GeneratorCPUs, func(cpu int) bool { return slices.Contains(c.ServerCPUs, cpu) })
	if i < 0 {
		return 0, false
	}
	return c.GeneratorCPUs[i], true
}

// cpus returns the CPUs of both sides.
func (c *Config) cpus() []int {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.ServerCPUs, c.GeneratorCPUs))))
}

// Progress receives each step of a comparison. It is called from one goroutine.
type Progress func(Step)

// Step is a step of a comparison.
type Step struct {
	Phase    string // build, check, plan, run
	Subject  string // empty at the end of a phase
	Workload string
	Block    int
	Blocks   int
	Done     int           // runs done
	Total    int           // runs planned
	Left     time.Duration // estimate of the remaining time
	Run      *results.Run  // the run that has just ended; nil if none has
	Note     string        // of phase plan: a sentence about the time; of phases ceiling and run: what it waits for
	Err      error         // why the subject is excluded, or does not serve the workload
}

// A bench is a comparison in progress.
type bench struct {
	cfg        Config
	launcher   *spawn.Launcher
	guard      *guard.Guard
	tmp        string
	tell       Progress
	subjects   []*Subject
	loads      []*workload
	answers    map[answerKey][]byte
	services   []*service  // the running backends
	credential *credential // of servers with TLS; nil: not made yet
	file       *results.File
	failures   map[string]int  // consecutive failed runs, by subject
	foreseen   map[string]bool // workloads of which was said that the budget ends too early
	dropped    map[string]bool // workloads that have no more blocks, so that others have
	lookout    lookout
	fitted     bool      // the windows were shortened
	began      time.Time // start of the first block
	done       int
	total      int
}

// givenUp is the number of consecutive failed runs after which a subject is excluded.
const givenUp = 2

// Bench runs a comparison. On errors it returns the error together with a partial file,
// if there is one. A subject that cannot be built, started or checked ends the
// comparison, unless only its toolchain is too old: then it is left out. One that fails later is recorded in the file, reported through tell, and
// does not stop the others.
func Bench(ctx context.Context, cfg Config, c *Catalogue, g *guard.Guard, tell Progress) (_ *results.File, err error) {
	b := &bench{
		cfg: cfg, guard: g, tell: tell,
		answers: map[answerKey][]byte{}, failures: map[string]int{}, foreseen: map[string]bool{}, dropped: map[string]bool{},
	}
	if err := b.resolve(c); err != nil {
		return nil, err
	}
	if err := errors.Join(b.checkBackends(), b.fitPush()); err != nil {
		return nil, err
	}
	b.calibrate()
	b.tmp, err = openDir("", "redline-bench-")
	if err != nil {
		return nil, fmt.Errorf("create directory for the run: %w", err)
	}
	release, err := g.RemoveAll(b.tmp)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.tmp))
	}
	b.launcher = spawn.NewLauncher()
	defer func() {
		err = errors.Join(err, b.stopBackends())
		b.launcher.Close()
		err = errors.Join(err, os.RemoveAll(b.tmp), release())
	}()
	if b.file, err = b.header(c.root); err != nil {
		return nil, err
	}
	if err := b.startBackends(ctx); err != nil {
		return nil, err
	}
	if err := b.prepare(ctx, c); err != nil {
		return b.close(ctx, err)
	}
	b.noteAbsent()
	b.fit()
	if err := b.measureCeilings(ctx, c); err != nil {
		return b.close(ctx, err)
	}
	return b.close(ctx, b.run(ctx))
}

// Check checks that every name in the configuration is known. If one is not, the error
// is an *[UnknownError], which lists those that are.
func (c *Catalogue) Check(cfg Config) error {
	return (&bench{cfg: cfg}).resolve(c)
}

// resolve turns the names of the configuration into subjects and workloads.
func (b *bench) resolve(c *Catalogue) error {
	cpu, shared := b.cfg.SharedCPU()
	for _, name := range b.cfg.Workloads {
		w := findWorkload(name)
		if w == nil {
			return &UnknownError{What: "workload", Name: name, Known: known()}
		}
		if shared && w.rate == 0 {
			return fmt.Errorf("workload %s has no fixed rate: when server and generator share CPU %d, it measures the generator; use one with a fixed rate, such as redis-500 or mixed-300us", name, cpu)
		}
		b.loads = append(b.loads, w)
	}
	for _, name := range b.cfg.Subjects {
		s, err := c.find(name)
		if err != nil {
			return err
		}
		switch name {
		case b.cfg.Baseline:
			s.role = roleBaseline
		case floorName:
			s.role = roleFloor
		}
		b.subjects = append(b.subjects, s)
	}
	if !slices.Contains(b.cfg.Subjects, b.cfg.Baseline) {
		return &UnknownError{What: "baseline", Name: b.cfg.Baseline, Known: b.cfg.Subjects}
	}
	return nil
}

func (b *bench) header(root string) (*results.File, error) {
	changes, err := machine.InForce()
	if err != nil {
		return nil, err
	}
	f := &results.File{
		Schema: results.SchemaName, Version: results.SchemaVersion,
		Tool: b.cfg.Tool, Command: b.cfg.Command, Started: time.Now(),
		Machine: machine.Fingerprint(root),
		Config: results.Config{
			Mode: b.cfg.Mode, Baseline: b.cfg.Baseline, Blocks: b.cfg.Blocks, Connections: b.cfg.Connections,
			BudgetSeconds: b.cfg.Budget.Seconds(), Margins: b.cfg.Margins,
			WindowSeconds: b.cfg.Window.Seconds(), WarmupSeconds: b.cfg.Warmup.Seconds(), Seed: b.cfg.Seed,
			ServerCPUs: b.cfg.ServerCPUs, GeneratorCPUs: b.cfg.GeneratorCPUs, Congestion: b.cfg.Congestion,
			Changes: changes,
		},
		Notes: slices.Clone(b.cfg.Notes),
	}
	for _, w := range b.loads {
		f.Workloads = append(f.Workloads, w.describe(b.connections(w)))
	}
	return f, nil
}

// prepare builds the subjects and checks that they do the same work. It returns an error
// if a subject cannot take part.
func (b *bench) prepare(ctx context.Context, c *Catalogue) error {
	dir := filepath.Join(b.tmp, "bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var fit []*Subject
	for i, s := range b.subjects {
		b.tell(Step{Phase: "build", Subject: s.Name, Done: i, Total: len(b.subjects)})
		err := c.prepare(ctx, s, dir)
		if err == nil {
			b.tell(Step{Phase: "check", Subject: s.Name, Done: i, Total: len(b.subjects)})
			err = b.sameWork(ctx, s, b.loads)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if absent(err) {
			if err := b.leaveOut(i, err); err != nil {
				return err
			}
			continue
		}
		b.file.Subjects = append(b.file.Subjects, s.describe())
		if err != nil {
			b.exclude(s, err)
			hint := ""
			if !s.control {
				hint = "; docs/subjects.md describes what a subject has to do"
			}
			return fmt.Errorf("%s cannot take part; fix it, or leave it out of --subjects%s: %w", s.Name, hint, err)
		}
		fit = append(fit, s)
		if s.role == roleBaseline {
			twin := *s
			twin.role = roleTwin
			fit = append(fit, &twin)
			b.file.Subjects = append(b.file.Subjects, twin.describe())
		}
	}
	if err := b.comparable(fit); err != nil {
		return err
	}
	b.subjects = fit
	return nil
}

// noteAbsent records the subjects that do not serve a workload.
func (b *bench) noteAbsent() {
	for i, w := range b.loads {
		for _, s := range b.subjects {
			if !s.serves(w) && s.role != roleTwin {
				b.file.Workloads[i].NotServed = append(b.file.Workloads[i].NotServed, s.Name)
				b.tell(Step{Phase: "check", Subject: s.Name, Workload: w.name, Err: fmt.Errorf("does not serve %s, and has no figures for it", w.name)})
			}
		}
	}
}

// exclude records a subject that cannot take part.
func (b *bench) exclude(s *Subject, err error) {
	b.tell(Step{Phase: "check", Subject: s.label(), Err: err})
	run := results.Run{ID: "check/" + s.label(), Subject: s.label(), Started: time.Now(), Failed: err.Error()}
	var se *SubjectError
	if errors.As(err, &se) {
		run.Failed, run.Stderr = se.Err.Error(), se.Stderr
	}
	b.file.Runs = append(b.file.Runs, run)
}

// close draws the conclusions from the runs so far.
func (b *bench) close(ctx context.Context, err error) (*results.File, error) {
	f := b.file
	f.Ended = time.Now()
	if err != nil {
		f.Partial = err.Error()
		if ctx.Err() != nil {
			f.Partial = "interrupted"
		}
	}
	return f, errors.Join(err, conclude(f, b.cfg.Seed))
}
