package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
)

const (
	findStart     = 1000.0 // requests a second of the first step, without --rate
	findPrecision = 0.05
	findConfirm   = 2
	findAgain     = 2
	findTrials    = 60
)

// search searches for the highest rate that keeps the objective. It returns the document of the
// last run at that rate, or of the last run if there is no such rate.
func (s *session) search(ctx context.Context) (*present.Document, error) {
	low := s.lowest()
	options := objective.SearchOptions{
		Start: findStart, Low: low, Precision: findPrecision, Confirm: findConfirm, Again: findAgain, Trials: findTrials,
	}
	if s.plan.arrivals != nil {
		options.Start = s.plan.arrivals.Rate
	}
	var last *present.Document
	kept := map[float64]*present.Document{}
	found, err := objective.Find(options, func(rate float64, phase string) (objective.Trial, error) {
		doc, trial, err := s.trial(ctx, rate)
		if err != nil {
			return trial, err
		}
		if doc.Partial != "" {
			return trial, context.Cause(ctx)
		}
		if last = doc; trial.Verdict == objective.Kept {
			kept[rate] = doc
		}
		s.live.Say(stepLine(rate, phase, trial))
		return trial, nil
	})
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, fmt.Errorf("the search ended there: %s", found.Text))
	}
	doc := kept[found.Rate]
	if doc == nil {
		doc = last
	}
	if doc == nil {
		return nil, err
	}
	doc.Search = found
	if ctx.Err() != nil {
		doc.Partial = "interrupted in the middle of the search"
	}
	return doc, err
}

// lowest returns the rate below which a window has too few samples for the objective, with a
// margin of a tenth.
func (s *session) lowest() float64 {
	most := uint64(1)
	for _, o := range s.plan.find {
		most = max(most, o.Samples())
	}
	return 1.1 * float64(most) / s.plan.duration.Seconds()
}

// trial runs one step.
func (s *session) trial(ctx context.Context, rate float64) (*present.Document, objective.Trial, error) {
	poisson := s.plan.flags.arrivals == "poisson"
	plan := &arrive.Plan{Rate: rate, Poisson: poisson, Seed: s.plan.seed}
	doc, err := s.once(ctx, plan, perSecond(rate)+", "+spread(poisson), s.plan.find)
	if err != nil {
		return nil, objective.Trial{}, err
	}
	return doc, judge(doc, s.plan.find), nil
}

// judge returns the result of a run as a trial of the search.
func judge(doc *present.Document, objectives []objective.Objective) objective.Trial {
	t := objective.Trial{Verdict: objective.Kept, P50: doc.Latency.P50, P99: doc.Latency.P99}
	broken, bounded := "", true
	for _, o := range objectives {
		if j := o.Judge(doc.Figures()); !j.Kept && broken == "" {
			broken = j.Why
		}
		bounded = bounded && !(o.Above && o.OfLatency())
	}
	if broken == "" {
		if ok, why := doc.KeptUp(); !ok {
			broken = why
		}
	}
	if broken == "" && bounded {
		return t // a disturbance makes a run slower, not faster
	}
	if ok, why := doc.Believed(); !ok {
		t.Verdict, t.Why = objective.Invalid, why
	} else if broken != "" {
		t.Verdict, t.Why = objective.Broken, broken
	}
	return t
}

// stepLine returns the line that is printed for a step.
func stepLine(rate float64, phase string, t objective.Trial) string {
	text := fmt.Sprintf("%-8s %8s/s  p50 %-8s p99 %-8s  %s", phase, report.PerSecond(rate),
		report.Quantile(t.P50, " "), report.Quantile(t.P99, " "), t.Verdict)
	if t.Why != "" {
		text += ": " + t.Why
	}
	return text
}
