package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// measureCeiling finds out what limit reaches, when a workload takes its rate from
// that: its closed loop in the shape of plaintext, once, before the first block. It is
// measured also where limit takes no part.
func (b *bench) measureCeiling(ctx context.Context, c *Catalogue) error {
	if !slices.ContainsFunc(b.loads, func(w *workload) bool { return w.ceiling > 0 }) {
		return nil
	}
	s, among, err := b.floorSubject(ctx, c)
	if err != nil {
		return fmt.Errorf("measure what the rates are a share of: %w", err)
	}
	w := plaintext()
	b.tell(Step{Phase: "ceiling", Subject: s.Name, Workload: w.name})
	run, err := b.measure(ctx, step{workload: &w, subject: s, attempt: 1})
	switch {
	case err != nil:
		return err
	case run.Failed != "":
		err = errors.New(run.Failed)
	case results.CountErrors(run.Errors) > 0:
		err = fmt.Errorf("wrong answers: %s", results.ErrorKinds(run.Errors))
	case run.Requests == 0:
		err = errors.New("not one right answer")
	}
	if err != nil {
		return fmt.Errorf("measure what the rates are a share of: %s: %w", s.Name, err)
	}
	b.file.Ceiling = &results.Ceiling{
		Subject: s.Name, Rate: run.Rate, WindowSeconds: run.WindowSeconds, Connections: b.connections(&w),
		CPUPerRequestUs: run.CPU.PerRequestUs, Bound: run.Generator.Bound, Gates: run.Gates,
	}
	if !among {
		b.file.Notes = append(b.file.Notes, fmt.Sprintf(
			"%s is not among the subjects, and was measured all the same: the rates of this comparison are shares of its %.0f requests a second",
			s.Name, run.Rate))
	}
	return nil
}

// Measurable separates the workloads that take their rate from what limit reaches, left,
// from the others, where there is no limit: it is built from a checkout. Names that are
// unknown stay.
func (c *Catalogue) Measurable(names []string) (kept, left []string) {
	_, err := c.find(floorName)
	for _, name := range names {
		if w := findWorkload(name); err != nil && w != nil && w.ceiling > 0 {
			left = append(left, name)
		} else {
			kept = append(kept, name)
		}
	}
	return kept, left
}

// floorSubject returns limit, ready to start, and whether it takes part.
func (b *bench) floorSubject(ctx context.Context, c *Catalogue) (s *Subject, among bool, err error) {
	for _, s := range b.subjects {
		if s.Name == floorName && s.role != roleTwin {
			return s, true, nil
		}
	}
	if s, err = c.find(floorName); err != nil {
		return nil, false, err
	}
	if err := c.prepare(ctx, s, filepath.Join(b.tmp, "bin")); err != nil {
		return nil, false, err
	}
	w := plaintext()
	return s, false, b.sameWork(ctx, s, []*workload{&w})
}

// gatesOf are the gates of a workload's arrivals. Where the connections are as many as
// in a closed loop, arrivals wait for one that is free: that is the subject's time and in
// its latency, and only what the generator itself was late by makes it doubtful.
func gatesOf(w *workload, result *spec.Result) ([]results.Gate, error) {
	if !w.common() {
		return verdict.Open(result, 0)
	}
	floor := ownLag
	if w.backend != "" {
		floor = sharedLag
	}
	return verdict.Pacing(result, floor)
}

// What the generator itself may be late by at its p99, in microseconds, or a tenth of
// the median: alone on its CPU, and beside a backend.
const ownLag, sharedLag = 50.0, 500.0

// short says that a subject did not reach the rate that all get, or "". It is no
// disturbance: everything but the rate was as it should be.
func short(w *workload, run *results.Run) string {
	if !w.common() || run.Open == nil || run.Open.Due == 0 {
		return ""
	}
	behind := false
	for _, g := range run.Gates {
		switch {
		case g.Passed:
		case g.Name == "achieved":
			behind = true
		case g.Name != "steady" && g.Name != "answers": // a backlog grows: that is a trend
			return ""
		}
	}
	if !behind {
		return ""
	}
	return fmt.Sprintf("it did not reach the rate: %.1f %% of %.0f requests a second were sent",
		100*float64(run.Open.Sent)/float64(run.Open.Due), run.Open.TargetRate)
}
