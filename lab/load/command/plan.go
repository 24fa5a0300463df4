package command

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/export"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/results"
)

const (
	profileSpare    = 500 * time.Millisecond // time of the window for snapshot profiles
	shortestProfile = 2 * time.Second        // minimum window with profiles
)

// plan holds the resolved flags. It is immutable once it is made: results of the run are in
// other values.
type plan struct {
	flags Flags // as written; a field below has precedence

	seed         uint64
	duration     time.Duration // maximum length of the window
	tick         time.Duration // between the points of the time series
	workers      int
	asked        bool // the number of connections is the user's
	request      request
	users        userPlan
	arrivals     *arrive.Plan // nil: a closed loop
	arrivalsText string       // arrivals in words
	ramp         *arrive.Ramp // of a closed loop; nil: the number of connections does not change
	rampText     string       // ramp in words
	thresholds   []objective.Objective
	find         []objective.Objective
	percents     []float64       // shown in tables; none: the defaults
	cpus         []int           // of the generator
	protocol     *protocol       // of connections to the server
	subscribers  *spec.Subscribe // nil: a load of requests
	runtime      observe.RuntimeOptions
	export       export.Options
	notes        []string // automatic choices that the user should know
}

// resolve converts the flags to a plan. Its errors say what to write instead.
func (l *Flags) resolve(rawURL string, changed func(string) bool) (*plan, error) {
	p := &plan{flags: *l, seed: l.seed, duration: l.duration, workers: l.fleet.workers}
	p.asked = changed("connections")
	if !changed("seed") {
		p.seed = rand.Uint64() >> 11 // exact in JSON
	}
	for _, step := range []func() error{
		l.checkNumbers,
		func() error { return l.checkTogether(changed) },
		func() error { return p.planRamp(changed) },
		func() error { return p.planRequests(changed) },
		func() error { return p.checkUnix(changed) },
		func() error { return p.planUsers(rawURL, changed) },
		func() error { return p.planProtocol(changed) },
		func() error { return p.planArrivals(changed("duration")) },
		p.checkThink,
		func() error { p.planSpan(changed("duration")); return nil },
		p.planObjectives,
		func() error { return p.planPercentiles(changed("percentiles")) },
		func() error { return p.planSubscribers(changed) },
		func() error { return p.planRuntime(changed) },
		func() error { return p.planWorkers(changed("workers")) },
		p.planCPUs,
		p.checkFleet,
		func() error { return p.checkBus(changed) },
		func() error { return p.checkKubernetes(changed) },
		func() error { return p.planExport(changed) },
		func() error { return p.checkFiles(changed) },
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

// checkTogether rejects combinations of flags that make no sense.
func (l *Flags) checkTogether(changed func(string) bool) error {
	open := l.rate != "" || l.stages != "" || l.find != ""
	for _, flag := range []string{"arrivals", "seed", "burst"} {
		if changed(flag) && !open && !(flag == "seed" && l.draws()) {
			return fmt.Errorf("--%s is for an open loop: add a rate with --rate, --stages or --find", flag)
		}
	}
	switch {
	case open && l.pipeline > 1:
		return errors.New("--pipeline is for a closed loop: leave out --rate, --stages and --find, or --pipeline")
	case l.find != "" && (l.stages != "" || l.burst != ""):
		return errors.New("--find tries constant rates: leave out --stages and --burst")
	case l.find != "" && len(l.thresholds) > 0:
		return errors.New("--find and --threshold: write all objectives into --find")
	case l.body != "" && l.bodyFile != "":
		return errors.New("--body and --body-file: leave out one of the two")
	}
	for _, pid := range l.pids {
		if pid < 1 {
			return fmt.Errorf("--pid %d: want the number of a process", pid)
		}
	}
	return nil
}

// checkFiles checks before the run that its result files can be written.
func (p *plan) checkFiles(changed func(string) bool) error {
	l := &p.flags
	taken := map[string]string{} // flags by file
	for _, out := range []struct{ flag, path string }{{"json", l.json}, {"csv", l.csv}, {"hdr", l.hdr}, {"html", l.html}, {"junit", l.junit}, {"summary", l.summary}} {
		if out.path == "" && changed(out.flag) {
			return fmt.Errorf("--%s: name a file, as run.%[1]s, or leave it out", out.flag)
		}
		if out.path == "" || out.flag == "json" && out.path == "-" {
			continue
		}
		if out.path == "-" {
			return fmt.Errorf("--%s -: only --json writes to standard output; name a file", out.flag)
		}
		if err := cli.CheckOutput(out.flag, out.path, l.users.targets, l.bodyFile, l.protocol.ca, l.fleet.credentials); err != nil {
			return err
		}
		if info, err := os.Stat(out.path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		name := filepath.Clean(out.path)
		if other, is := taken[name]; is {
			return fmt.Errorf("--%s and --%s: both would be written to %s; name two files", other, out.flag, out.path)
		}
		taken[name] = out.flag
	}
	return p.checkExportFiles(taken)
}

// planObjectives parses the objectives.
func (p *plan) planObjectives() (err error) {
	for _, text := range p.flags.thresholds {
		list, err := objective.Parse(text)
		if err != nil {
			return fmt.Errorf("--threshold: %w", err)
		}
		if err := p.checkTargets(list); err != nil {
			return fmt.Errorf("--threshold %s: %w", text, err)
		}
		p.thresholds = append(p.thresholds, list...)
	}
	if p.flags.find == "" {
		return nil
	}
	if p.find, err = objective.Parse(p.flags.find); err != nil {
		return fmt.Errorf("--find: %w", err)
	}
	for _, o := range p.find {
		if o.Target != "" {
			return fmt.Errorf("--find %s: a search judges all requests together; leave %q out", o, o.Target)
		}
		if o.Iterations() && len(p.users.flows) == 0 {
			return fmt.Errorf("--find %s: %w", o, p.checkIterations(o))
		}
		if o.Metric == "rate" {
			return fmt.Errorf("--find %s: the rate is the result of the search; write what must be kept, as p99<10ms", o)
		}
	}
	return nil
}

// planPercentiles parses the percentiles that the tables show.
func (p *plan) planPercentiles(given bool) (err error) {
	if !given {
		return nil
	}
	if p.percents, err = results.ParsePercentiles(p.flags.percentiles); err != nil {
		return fmt.Errorf("--percentiles: %w", err)
	}
	return nil
}

// checkTargets rejects objectives of unknown targets.
func (p *plan) checkTargets(list []objective.Objective) error {
	for _, o := range list {
		switch {
		case o.Iterations():
			if err := p.checkIterations(o); err != nil {
				return err
			}
		case o.Target == "" || slices.Contains(p.users.names, o.Target), slices.Contains(p.users.tags, o.Target):
		case p.flags.users.targets == "":
			return fmt.Errorf("only a scenario has targets; leave %q out, or name the scenario's file with --targets", o.Target)
		case strings.Contains(o.Target, "=") && len(p.users.tags) > 0:
			return fmt.Errorf("%s has no target and no tag %q; its tags are %s", p.users.scenario.Name, o.Target, strings.Join(p.users.tags[:min(len(p.users.tags), 20)], ", "))
		default:
			names := objective.Nearest(o.Target, p.users.names, 20)
			if more := len(p.users.names) - len(names); more > 0 {
				names = append(names, fmt.Sprintf("and %d more", more))
			}
			return fmt.Errorf("%s has no target %q; it has %s", p.users.scenario.Name, o.Target, strings.Join(names, ", "))
		}
	}
	return nil
}

// checkIterations rejects objectives of unknown flows.
func (p *plan) checkIterations(o objective.Objective) error {
	switch {
	case len(p.users.flows) == 0:
		return errors.New("an iteration is one pass through a flow of a scenario: name a file with flows: by --targets")
	case o.Target != "" && !slices.Contains(p.users.flows, o.Target):
		return fmt.Errorf("%s has no flow {%s}; it has %s", p.users.scenario.Name, o.Target, strings.Join(p.users.flows[:min(len(p.users.flows), 20)], ", "))
	}
	return nil
}

// planRuntime parses the flags about the server's Go runtime.
func (p *plan) planRuntime(changed func(string) bool) (err error) {
	l := &p.flags.runtime
	o := observe.RuntimeOptions{Control: l.control, PProf: l.pprof, Time: l.time, Dir: l.dir}
	if l.pprof != "" {
		if o.Base, err = observe.ParseBase(l.pprof); err != nil {
			return fmt.Errorf("--pprof: %w", err)
		}
	}
	if l.profile == "" {
		for _, flag := range []string{"profile-time", "profile-dir", "profile"} {
			if changed(flag) {
				return fmt.Errorf("--%s: say which profiles to take, as --profile cpu,heap", flag)
			}
		}
		p.runtime = o
		return nil
	}
	if o.Kinds, err = profile.Parse(l.profile); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	switch {
	case l.pprof == "" && l.control == "":
		return errors.New("--profile takes profiles from the server's --pprof URL or --control SOCKET: name one of them")
	case p.flags.find != "":
		return errors.New("--profile and --find: find the rate first, then profile it with --rate")
	case p.flags.requests > 0:
		return errors.New("--profile and --requests: profiles cover a part of a window of known length; write --duration instead of --requests")
	case l.time < time.Second:
		return fmt.Errorf("--profile-time %v: want at least 1s", l.time)
	case p.duration < shortestProfile:
		return fmt.Errorf("--profile needs a window of at least %v: write --duration %v", shortestProfile, shortestProfile)
	}
	o.Time = min(l.time, p.duration-profileSpare).Truncate(time.Second)
	if o.Dir == "" {
		if o.Dir = "redline-profiles-" + time.Now().Format("20060102-150405"); p.flags.json != "" && p.flags.json != "-" {
			o.Dir = filepath.Join(filepath.Dir(p.flags.json), "profiles")
		}
	}
	if info, err := os.Stat(o.Dir); err == nil && !info.IsDir() {
		return fmt.Errorf("--profile-dir %s is not a directory; name one, which is created if it does not exist", o.Dir)
	}
	if _, err := os.Stat(filepath.Dir(o.Dir)); err != nil {
		return fmt.Errorf("--profile-dir %s: create its parent first: %w", o.Dir, err)
	}
	p.runtime = o
	return nil
}

const maxRunName = 100 // bytes: it is in every series

// planExport parses the outputs of figures.
func (p *plan) planExport(changed func(string) bool) error {
	l := &p.flags.export
	if len(l.to) == 0 {
		for _, flag := range []string{"export-run", "export-linger", "export-optional"} {
			if changed(flag) {
				return fmt.Errorf("--%s: say where to export to, as --export prometheus=:9464", flag)
			}
		}
		return nil
	}
	o := export.Options{Run: l.run, Optional: l.optional, Tool: cli.Version()}
	fetched := false
	for i, text := range l.to {
		out, err := export.Parse(text)
		if err != nil {
			return fmt.Errorf("--export %w", err)
		}
		for j, other := range o.Outputs {
			if out.String() == other.String() {
				return fmt.Errorf("--export %s is given twice, as number %d and %d; leave one out", out, j+1, i+1)
			}
		}
		fetched = fetched || out.Fetched()
		o.Outputs = append(o.Outputs, out)
	}
	switch {
	case p.flags.users.try:
		return errors.New("--try measures nothing: leave out --export")
	case p.flags.kube.kubernetes && !p.flags.kube.apply:
		return errors.New("--export: a run in a cluster has no place for the receiver's credentials; coordinate it from here with --apply, or leave it out")
	case l.linger < 0:
		return fmt.Errorf("--export-linger %v: want 0 or more", l.linger)
	case l.linger > 0 && !fetched:
		return errors.New("--export-linger is for --export prometheus, which is scraped; leave it out")
	case len(l.run) > maxRunName || strings.ContainsFunc(l.run, func(r rune) bool { return r < ' ' }) || strings.ToValidUTF8(l.run, "") != l.run:
		return fmt.Errorf("--export-run %q: want a name of one line, up to %d bytes", l.run, maxRunName)
	}
	p.export = o
	return nil
}

// checkExportFiles rejects files that another flag writes too; taken maps files to those
// flags.
func (p *plan) checkExportFiles(taken map[string]string) error {
	l := &p.flags
	for _, out := range p.export.Outputs {
		path := out.File()
		if path == "" {
			continue
		}
		if other, is := taken[filepath.Clean(path)]; is {
			return fmt.Errorf("--%s and --export %s: both would be written to %s; name two files", other, out, path)
		}
		if err := cli.CheckOutput("export influxdb", path, l.users.targets, l.bodyFile, l.protocol.ca, l.fleet.credentials); err != nil {
			return err
		}
	}
	return nil
}
