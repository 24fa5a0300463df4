package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
)

// plan is what the flags ask for.
type plan struct {
	Flags
	users
	request    request
	arrivals   *arrive.Plan // nil: a closed loop
	words      string       // of arrivals
	thresholds []objective.Objective
	find       []objective.Objective
	cpus       []int           // of the generator
	protocol   *protocol       // what is spoken with the server
	listen     *spec.Subscribe // of subscribers; nil: requests
	notes      []string        // what was chosen that the user should know of
}

// resolve turns the flags into a plan. Its errors say what to write instead.
func (l *Flags) resolve(rawURL string, changed func(string) bool) (*plan, error) {
	p := &plan{Flags: *l}
	if !changed("seed") {
		p.seed = rand.Uint64() >> 11 // exact in JSON
	}
	for _, step := range []func() error{
		l.checkNumbers,
		func() error { return l.checkTogether(changed) },
		func() error { return p.resolveUsers(rawURL, changed) },
		func() error { return p.resolveProtocol(changed) },
		func() error { return p.schedule(changed("duration")) },
		p.enough,
		p.objectives,
		func() error { return p.subscribe(changed) },
		func() error { return p.checkView(changed) },
		func() error { return p.crowd(changed("workers")) },
		p.place,
		p.checkFleet,
		func() error { return p.checkBus(changed) },
		func() error { return p.checkKubernetes(changed) },
		func() error { return l.checkFiles(changed) },
	} {
		if err := step(); err != nil {
			return nil, cli.Misuse(err)
		}
	}
	return p, nil
}

func (l *Flags) checkNumbers() error {
	switch {
	case l.connections < 1:
		return fmt.Errorf("--connections %d: want at least 1", l.connections)
	case l.pipeline < 1:
		return fmt.Errorf("--pipeline %d: want at least 1", l.pipeline)
	case l.duration < 100*time.Millisecond:
		return fmt.Errorf("--duration %v: want at least 100ms", l.duration)
	case l.warmup < 0:
		return fmt.Errorf("--warmup %v: want 0 or more", l.warmup)
	case l.timeout <= 0:
		return fmt.Errorf("--timeout %v: want more than 0, as 10s", l.timeout)
	case l.status != 0 && (l.status < 200 || l.status > 999):
		return fmt.Errorf("--status %d: want the status of a final answer, as 200 or 404", l.status)
	}
	return nil
}

// checkTogether refuses flags that say nothing together.
func (l *Flags) checkTogether(changed func(string) bool) error {
	open := l.rate != "" || l.stages != "" || l.find != ""
	for _, flag := range []string{"arrivals", "seed", "burst"} {
		if changed(flag) && !open && !(flag == "seed" && l.draws()) {
			return fmt.Errorf("--%s is about an open loop: give it a rate with --rate, --stages or --find", flag)
		}
	}
	switch {
	case open && l.pipeline > 1:
		return errors.New("--pipeline is for a closed loop: leave out --rate, --stages and --find, or --pipeline")
	case l.find != "" && (l.stages != "" || l.burst != ""):
		return errors.New("--find tries one even rate after the other: leave out --stages and --burst")
	case l.find != "" && len(l.thresholds) > 0:
		return errors.New("--find and --threshold: write all that is to be kept into --find")
	case l.body != "" && l.bodyFile != "":
		return errors.New("--body and --body-file: one of the two")
	}
	for _, pid := range l.pids {
		if pid < 1 {
			return fmt.Errorf("--pid %d: want the number of a process", pid)
		}
	}
	return nil
}

// schedule makes the arrivals of an open loop.
func (p *plan) schedule(durationGiven bool) (err error) {
	poisson, err := arrive.ParseArrivals(p.Flags.arrivals)
	if err != nil {
		return fmt.Errorf("--arrivals %s: %w", p.Flags.arrivals, err)
	}
	if p.rate == "" && p.stages == "" {
		return nil
	}
	plan := &arrive.Plan{Poisson: poisson, Seed: p.seed}
	var words []string
	if p.rate != "" {
		if plan.Rate, err = arrive.ParseRate(p.rate); err != nil {
			return fmt.Errorf("--rate %s: %w", p.rate, err)
		}
		words = append(words, perSecond(plan.Rate))
	}
	if p.stages != "" {
		if plan.Stages, err = arrive.ParseStages(p.stages); err != nil {
			return fmt.Errorf("--stages %s: %w", p.stages, err)
		}
		if !durationGiven {
			p.duration = plan.Duration()
		}
		if p.duration < 100*time.Millisecond {
			return fmt.Errorf("--stages %s: they last %v in all; want at least 100ms, or give --duration", p.stages, plan.Duration())
		}
		words = append(words, "stages "+p.stages)
	}
	if p.burst != "" {
		if plan.Burst, err = arrive.ParseBurst(p.burst); err != nil {
			return fmt.Errorf("--burst %s: %w", p.burst, err)
		}
		words = append(words, "burst "+p.burst)
	}
	if err := plan.Validate(); err != nil {
		return fmt.Errorf("--%s: %w; write a rate above 0, as --rate 1000", cmp.Or(flagOf(p.rate, "rate"), "stages"), err)
	}
	p.arrivals, p.words = plan, strings.Join(append(words, spread(poisson)), ", ")
	return nil
}

func flagOf(value, flag string) string {
	if value == "" {
		return ""
	}
	return flag
}

func spread(poisson bool) string {
	if poisson {
		return "poisson"
	}
	return "constant"
}

func perSecond(rate float64) string { return fmt.Sprintf("%.6g/s", rate) }

// objectives reads what has to be kept.
func (p *plan) objectives() (err error) {
	for _, text := range p.Flags.thresholds {
		list, err := objective.Parse(text)
		if err != nil {
			return fmt.Errorf("--threshold: %w", err)
		}
		if err := p.known(list); err != nil {
			return fmt.Errorf("--threshold %s: %w", text, err)
		}
		p.thresholds = append(p.thresholds, list...)
	}
	if p.Flags.find == "" {
		return nil
	}
	if p.find, err = objective.Parse(p.Flags.find); err != nil {
		return fmt.Errorf("--find: %w", err)
	}
	for _, o := range p.find {
		if o.Target != "" {
			return fmt.Errorf("--find %s: the search is for all requests together; leave {%s} out", o, o.Target)
		}
		if o.Metric == "rate" {
			return fmt.Errorf("--find %s: the rate is what is looked for; write what has to be kept, as p99<10ms", o)
		}
	}
	return nil
}

// place chooses the generator's CPU.
func (p *plan) place() error {
	allowed, err := probe.Allowed()
	if err != nil {
		return err
	}
	if p.cpu == "" {
		p.cpus = allowed[len(allowed)-p.cores(len(allowed)):]
		return nil
	}
	cpus, err := probe.ParseCPUs(p.cpu)
	if err != nil {
		return fmt.Errorf("--cpu %s: %w", p.cpu, err)
	}
	if len(cpus) > p.workers {
		return fmt.Errorf("--cpu %s: a generator is one thread; name one CPU, as --cpu %d, or as many as there are --workers", p.cpu, cpus[0])
	}
	for _, c := range cpus {
		if !slices.Contains(allowed, c) {
			return fmt.Errorf("--cpu %s: it is not among those allowed, %s", p.cpu, probe.FormatCPUs(allowed))
		}
	}
	p.cpus = cpus
	return nil
}

// checkFiles looks before the run whether its results have a place.
func (l *Flags) checkFiles(changed func(string) bool) error {
	taken := map[string]string{} // flags by file
	for _, out := range []struct{ flag, path string }{{"json", l.json}, {"csv", l.csv}, {"hdr", l.hdr}, {"html", l.html}} {
		if out.path == "" && changed(out.flag) {
			return fmt.Errorf("--%s: name a file, as run.%[1]s, or leave it out", out.flag)
		}
		if out.path == "" || out.flag == "json" && out.path == "-" {
			continue
		}
		if out.path == "-" {
			return fmt.Errorf("--%s -: only --json writes to standard output; name a file", out.flag)
		}
		dir := filepath.Dir(out.path)
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("--%s %s: there is no directory %s; make it first", out.flag, out.path, dir)
		case err != nil:
			return fmt.Errorf("--%s: %w", out.flag, err)
		case !info.IsDir():
			return fmt.Errorf("--%s %s: %s is no directory", out.flag, out.path, dir)
		}
		if info, err := os.Stat(out.path); err == nil && info.IsDir() {
			return fmt.Errorf("--%s %s: that is a directory; name a file in it", out.flag, out.path)
		}
		name := filepath.Clean(out.path)
		if other, is := taken[name]; is {
			return fmt.Errorf("--%s and --%s: both would be written to %s; name two files", other, out.flag, out.path)
		}
		taken[name] = out.flag
	}
	return nil
}
