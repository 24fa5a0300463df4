package rivals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/spawn"
)

const (
	underWay = 50                      // responses that a tool must have received: more than it may request before it begins
	settle   = time.Second             // from then on to the start of the window
	slack    = 1500 * time.Millisecond // from the end of the window to the end of the tool's run, which must not overlap
	patience = 20 * time.Second        // in addition to the duration that the tool is given
)

// A Run is one run of a tool.
type Run struct {
	Tool     string `json:"tool"`
	Workload string `json:"workload"`
	Round    int    `json:"round"`
	Failed   string `json:"failed,omitempty"` // why the other fields are missing
	// In the window, as measured from outside:
	Seconds   float64 `json:"seconds"`
	Requests  float64 `json:"requests"` // answered by the server; for the stalled server in the whole run
	Rate      float64 `json:"requests_per_second"`
	CPU       float64 `json:"cpu_seconds"` // of the tool's processes
	PerCall   float64 `json:"cpu_per_request_us"`
	ServerCPU float64 `json:"server_cpu_utilisation"` // 0 to 1 of one CPU
	Late      float64 `json:"late,omitempty"`         // requests that the stalled server answered later than scripted
	Report    Report  `json:"report"`                 // what the tool reports about its whole run
}

// reading is a measurement of both sides at one time.
type reading struct {
	at          time.Time
	count       float64
	tool, other time.Duration
}

func look(t *target, pid int) (r reading, err error) {
	if r.count, err = t.count(); err != nil {
		return r, err
	}
	r.at = time.Now()
	if r.tool, err = cpuTime(pid); err != nil {
		return r, err
	}
	r.other, err = cpuTime(t.cmd.Process.Pid)
	return r, err
}

// window computes the difference of two readings.
func (r *Run) window(a, b reading) {
	r.Seconds = b.at.Sub(a.at).Seconds()
	r.Requests = b.count - a.count
	r.Rate = r.Requests / r.Seconds
	r.CPU = (b.tool - a.tool).Seconds()
	if r.Requests > 0 {
		r.PerCall = r.CPU / r.Requests * 1e6
	}
	r.ServerCPU = (b.other - a.other).Seconds() / r.Seconds
}

// A process is a running tool.
type process struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	said  *tail.Tail
	ended chan error
	exit  error // valid once it has ended
	gone  bool
}

func startTool(l *spawn.Launcher, cpus []int, program string, args []string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), said: &tail.Tail{Limit: 2 << 10}, ended: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, p.said
	p.cmd.Env, p.cmd.WaitDelay = spawn.Environ(), 5*time.Second
	if err := l.Start(p.cmd, cpus); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// pass waits for d while the tool runs.
func (p *process) pass(ctx context.Context, d time.Duration) error {
	select {
	case p.exit = <-p.ended:
		p.gone = true
		return fmt.Errorf("it ended too early: %w", p.error())
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// begin waits until the server is under load.
func (p *process) begin(ctx context.Context, t *target, before float64) error {
	for end := time.Now().Add(patience); ; {
		now, err := t.count()
		if err != nil || now-before >= underWay {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server got only %.0f requests in %v; the tool printed %q", now-before, patience, p.said)
		}
		if err := p.pass(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// wait waits at most d for the process to end.
func (p *process) wait(ctx context.Context, d time.Duration) error {
	select {
	case p.exit = <-p.ended:
		p.gone = true
		if p.exit != nil {
			return p.error()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return fmt.Errorf("it did not end in time, and was killed")
	}
}

func (p *process) error() error {
	if p.exit == nil {
		return fmt.Errorf("exit status 0; it printed %q", p.said)
	}
	return fmt.Errorf("%w; it printed %q", p.exit, p.said)
}

// end kills the process and its descendants.
func (p *process) end() error {
	if p.gone {
		return nil
	}
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
	p.gone = true
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// run runs a tool with a load, and measures it. The failure of a tool is part of the
// result; the error is that of the comparison itself.
func (c *comparison) run(ctx context.Context, tool *Tool, l Load, t *target, window time.Duration) (r Run, err error) {
	r = Run{Tool: tool.Name, Workload: l.Workload}
	if l.Dir, err = os.MkdirTemp("", "redline-generators-"); err != nil {
		return r, fmt.Errorf("create a directory for %s: %w", tool.Name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.Dir)) }()
	l.URL = t.url
	args, err := tool.command(&l)
	if err != nil {
		return r, err
	}
	if err := c.measure(ctx, tool, &l, t, args, window, &r); err != nil {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		r.Failed = err.Error()
	}
	return r, nil
}

func (c *comparison) measure(ctx context.Context, tool *Tool, l *Load, t *target, args []string, window time.Duration, r *Run) (err error) {
	before, err := t.count()
	if err != nil {
		return err
	}
	p, err := startTool(c.launcher, c.GeneratorCPUs, tool.program, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if err := p.begin(ctx, t, before); err != nil {
		return err
	}
	if l.Workload == Stalled {
		if err := p.pass(ctx, l.Duration/2-c.Stall/2); err != nil {
			return err
		}
		if err := t.stall(c.Stall); err != nil {
			return err
		}
		if err := p.wait(ctx, l.Duration+patience); err != nil {
			return err
		}
		after, err := t.count()
		if err != nil {
			return err
		}
		if r.Late, err = t.number("late"); err != nil {
			return err
		}
		r.Seconds, r.Requests = l.Duration.Seconds(), after-before
	} else if err := c.watch(ctx, p, t, l, window, r); err != nil {
		return err
	}
	return c.read(ctx, tool, l, p, r)
}

// watch measures a window of a closed loop.
func (c *comparison) watch(ctx context.Context, p *process, t *target, l *Load, window time.Duration, r *Run) error {
	if err := p.pass(ctx, settle); err != nil {
		return err
	}
	a, err := look(t, p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := p.pass(ctx, window); err != nil {
		return err
	}
	b, err := look(t, p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	r.window(a, b)
	return p.wait(ctx, l.Duration+patience)
}

// read parses the tool's report.
func (c *comparison) read(ctx context.Context, tool *Tool, l *Load, p *process, r *Run) (err error) {
	out := slices.Clone(p.out.Bytes())
	if tool.report != nil {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if out, err = exec.CommandContext(ctx, tool.program, tool.report(l)...).Output(); err != nil {
			return fmt.Errorf("get its report: %w", err)
		}
	}
	if r.Report, err = tool.parse(l, out); err != nil {
		return err
	}
	if r.Report.Requests == 0 {
		return fmt.Errorf("it got no right response; it printed %q", p.said)
	}
	return nil
}
