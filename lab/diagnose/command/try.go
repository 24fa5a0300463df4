package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/diagnose/advice"
	"github.com/redline-go/redline/lab/diagnose/trial"
	"github.com/redline-go/redline/lab/load/command"
)

// The load of a trial's run. Its window is shorter than a load's: there are many blocks.
const (
	tryWarmup = 500 * time.Millisecond
	tryWindow = 1500 * time.Millisecond
)

// try tries changes, if that is wanted, and moves the causes that were refuted.
func (o *Options) try(ctx context.Context, url string, changed func(string) bool, console Console, e *diagnose.Evidence, r *diagnose.Report) error {
	started := len(o.Command) > 0
	knee := e.Knee()
	if o.NoTry || knee == nil || !started && !o.Try {
		return nil
	}
	changes := trial.Changes(e, r.Causes, trial.Can{Start: started, Ask: o.Load.Plain()})
	trials, err := trial.Try(ctx, trial.Options{
		Changes: changes, Seed: 1, Say: o.say(console),
		Run: func(ctx context.Context, c trial.Change) (out trial.Outcome, err error) {
			for range tryAgain {
				if out, err = o.run(ctx, url, changed, c, knee.Connections); !errors.Is(err, errInvalid) {
					break
				}
			}
			return out, err
		},
	})
	if err != nil {
		return err
	}
	r.Causes, r.Refuted, r.Trials = trial.Settle(r.Causes, changes, trials)
	return nil
}

// tryAgain is how often a run is made at most, if it is not valid.
const tryAgain = 3

// errInvalid is the error of a run that was disturbed.
var errInvalid = errors.New("a run was not valid")

// errUnknown is the error of a trial with a server whose processes are unknown.
var errUnknown = errors.New("the server's processes are unknown, so its CPU time is too: name it with --pid")

// run makes one run of a trial.
func (o *Options) run(ctx context.Context, url string, changed func(string) bool, c trial.Change, connections int) (out trial.Outcome, err error) {
	s, err := o.start(ctx, url, changed, c)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	shape := command.Shape{Connections: connections, Warmup: tryWarmup, Window: tryWindow}
	if c.Factor > 0 {
		shape.Connections = int(float64(connections) * c.Factor)
	}
	if c.Fresh {
		shape.PerConnection = 1
	}
	doc, err := s.runs.Run(ctx, shape)
	if err != nil {
		return out, err
	}
	if doc.Server == nil {
		return out, errUnknown
	}
	if ok, why := doc.BelievedDisturbed(); !ok {
		return out, fmt.Errorf("%w: %s", errInvalid, why)
	}
	return trial.Outcome{
		Rate: doc.RequestsPerSecond, CPU: doc.Server.CPU.PerRequestUs / 1e6, Latency: doc.Latency.MeanUs / 1e6,
		RSS: float64(doc.Server.Memory.RSSFinalBytes),
	}, nil
}

// advise joins the allocations under the load at the knee with the escapes of the sources.
func (o *Options) advise(ctx context.Context, e *diagnose.Evidence) []diagnose.Advice {
	if o.Source == "" {
		return nil
	}
	knee := e.Knee()
	if knee == nil || knee.Allocs == nil {
		e.Miss(errors.New("--source: the allocation sites are unknown: it is no Go program, or its runtime keeps no memory profile"))
		return nil
	}
	escapes, err := advice.Escapes(ctx, o.Source, "./...")
	if err != nil {
		e.Miss(err)
		return nil
	}
	return advice.Join(knee, escapes, o.Source)
}
