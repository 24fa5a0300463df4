package rivals

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/rivals/scripted"
	"github.com/redline-go/redline/lab/spawn"
)

// Config is the configuration of a comparison.
type Config struct {
	Redline   string   // executable of this command: a tool, and the server of some workloads
	Version   string   // of Redline
	Limit     string   // executable of the responder that parses nothing
	Tools     []string // by name; see [Names]
	Workloads []string // see [Workloads]
	Rounds    int      // runs of each tool in each closed loop; a stall is the same every time, and is run once
	Window    time.Duration
	Stall     time.Duration // duration of the server's stall, in the middle of a run five times as long
	Rate      int           // requests a second to the server that stalls
	Seed      uint64        // of the order of runs

	ServerCPUs, GeneratorCPUs []int
}

// Workloads returns the names of all workloads, in their order.
func Workloads() []string { return []string{Plain, Pipelined, HTTP2, Stalled} }

// NeedsLimit reports whether a workload uses the responder of [Config].Limit.
func NeedsLimit(workload string) bool { return workload == Plain || workload == Pipelined }

// load returns the load that every tool makes in a workload.
func (c *Config) load(workload string) Load {
	l := Load{Workload: workload, Connections: 64, Depth: 1}
	switch workload {
	case Pipelined:
		l.Depth = 16
	case HTTP2:
		l.Connections, l.Depth = 32, 16
	case Stalled:
		l.Rate = c.Rate
	}
	l.Duration = settle + c.Window + slack
	if workload == Stalled {
		l.Duration = 5 * c.Stall
	}
	l.Duration = (l.Duration + time.Second - 1).Truncate(time.Second)
	return l
}

// A Result is the result of a whole comparison.
type Result struct {
	Schema  string          `json:"schema"` // redline.generators
	Version int             `json:"version"`
	Started time.Time       `json:"started"`
	Machine results.Machine `json:"machine"`
	Seed    uint64          `json:"seed"`
	Rounds  int             `json:"rounds"`
	Window  float64         `json:"window_seconds"`
	Tools   []Found         `json:"tools"`
	Skipped []string        `json:"skipped"` // sentences: what was left out, and why
	Tables  []Table         `json:"tables"`
	Stall   float64         `json:"stall_seconds"`
	Truths  []Verdict       `json:"truth"`
	True    *Report         `json:"true,omitempty"` // the distribution that the verdicts are compared with
	Runs    []Run           `json:"runs"`
}

// Found is a tool of the comparison.
type Found struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// comparison is a comparison in progress.
type comparison struct {
	Config
	launcher *spawn.Launcher
	tools    []*Tool
	say      func(string)
	result   *Result
}

// Compare runs a comparison, and calls say with a line for each step. The result names
// tools that are missing, and loads that a tool cannot make. The error is that of the
// comparison itself; the failure of a tool is part of the result.
func Compare(ctx context.Context, cfg Config, say func(string)) (*Result, error) {
	c := &comparison{Config: cfg, say: say, launcher: spawn.NewLauncher()}
	defer c.launcher.Close()
	c.result = &Result{
		Schema: "redline.generators", Version: 1, Started: time.Now().UTC(), Machine: machine.Fingerprint("."),
		Seed: cfg.Seed, Rounds: cfg.Rounds, Window: cfg.Window.Seconds(), Stall: cfg.Stall.Seconds(), Skipped: []string{}, Runs: []Run{},
	}
	if err := c.find(ctx); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(cfg.Seed, 0))
	for round := range cfg.Rounds {
		for _, w := range cfg.Workloads {
			if w == Stalled && round > 0 {
				continue
			}
			for _, tool := range shuffled(c.able(w, round == 0), random) {
				if err := c.one(ctx, tool, w, round); err != nil {
					return nil, err
				}
			}
		}
	}
	c.result.conclude(c.tools, &c.Config)
	return c.result, nil
}

func shuffled(tools []*Tool, random *rand.Rand) []*Tool {
	tools = slices.Clone(tools)
	random.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
	return tools
}

// find finds the requested tools.
func (c *comparison) find(ctx context.Context) error {
	for _, t := range catalogue(c.Redline) {
		if !slices.Contains(c.Tools, t.Name) {
			continue
		}
		if t.program == c.Redline {
			t.Version = c.Config.Version
		} else {
			t.find(ctx)
		}
		if t.Missing != "" {
			c.skip(t.Missing)
			continue
		}
		c.tools = append(c.tools, t)
		c.result.Tools = append(c.result.Tools, Found{Name: t.Name, Version: t.Version})
	}
	if len(c.tools) == 0 {
		return fmt.Errorf("none of the tools is installed: %s", strings.Join(c.result.Skipped, "; "))
	}
	return nil
}

func (c *comparison) skip(sentence string) {
	c.result.Skipped = append(c.result.Skipped, sentence)
	c.say("left out: " + sentence)
}

// able returns the tools that can make the load.
func (c *comparison) able(workload string, first bool) (tools []*Tool) {
	var unable []string
	for _, t := range c.tools {
		switch {
		case t.can(workload):
			tools = append(tools, t)
		case !t.variant:
			unable = append(unable, t.Name)
		}
	}
	if first && len(unable) > 0 {
		c.skip(fmt.Sprintf("%s cannot make the load %s", strings.Join(unable, ", "), workload))
	}
	return tools
}

// one runs a tool with a load against a new server.
func (c *comparison) one(ctx context.Context, tool *Tool, workload string, round int) (err error) {
	c.say(fmt.Sprintf("round %d of %d: %s, %s", round+1, c.Rounds, workload, tool.Name))
	var t *target
	switch workload {
	case HTTP2:
		t, err = startServe(c.launcher, c.ServerCPUs, c.Redline, scripted.HTTP2)
	case Stalled:
		t, err = startServe(c.launcher, c.ServerCPUs, c.Redline, scripted.Stalls)
	default:
		t, err = startLimit(ctx, c.launcher, c.ServerCPUs, c.Limit)
	}
	if err != nil {
		return err
	}
	r, err := c.run(ctx, tool, c.load(workload), t, c.Window)
	if err = errors.Join(err, t.stop()); err != nil {
		return err
	}
	if r.Round = round; r.Failed != "" {
		c.say("  failed: " + r.Failed)
	}
	c.result.Runs = append(c.result.Runs, r)
	return nil
}
