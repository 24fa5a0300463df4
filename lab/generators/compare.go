package generators

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/generators/scripted"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/spawn"
)

// Config is what a comparison is told.
type Config struct {
	Redline   string   // the executable of this command: a tool, and the server of some workloads
	Version   string   // of it
	Limit     string   // the executable of the responder that parses nothing
	Tools     []string // by name; see [Names]
	Workloads []string // see [Workloads]
	Rounds    int      // how often each tool makes each closed loop; a stall is the same every time, and is made once
	Window    time.Duration
	Stall     time.Duration // of the server that stalls, in the middle of five times as long
	Rate      int           // requests a second to it
	Seed      uint64        // of the order

	ServerCPUs, GeneratorCPUs []int
}

// Workloads are the names of all of them, in their order.
func Workloads() []string { return []string{Plain, Pipelined, HTTP2, Stalled} }

// NeedsLimit reports whether a workload is about the responder of [Config].Limit.
func NeedsLimit(workload string) bool { return workload == Plain || workload == Pipelined }

// load is what a workload asks of every tool.
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

// A Result is a comparison, whole.
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
	True    *Report         `json:"true,omitempty"` // the distribution that the verdicts are about
	Runs    []Run           `json:"runs"`
}

// Found is a tool that took part.
type Found struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// comparison is one under way.
type comparison struct {
	Config
	launcher *spawn.Launcher
	tools    []*Tool
	say      func(string)
	result   *Result
}

// Compare carries out a comparison, and says what it does, a line at a time. Tools
// that are missing, and loads that a tool cannot make, are named in the result.
// The error is of the comparison itself; a tool that fails is a result.
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

// find looks for the tools that are asked for.
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
		return fmt.Errorf("none of the tools is there: %s", strings.Join(c.result.Skipped, "; "))
	}
	return nil
}

func (c *comparison) skip(sentence string) {
	c.result.Skipped = append(c.result.Skipped, sentence)
	c.say("left out: " + sentence)
}

// able are the tools that can make the load.
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

// one lets a tool make a load against a fresh server.
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
