package suite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

const (
	// ceilingShare is how long the closed loop runs that finds out what a share
	// is to be taken of, in windows.
	ceilingShare = 0.5

	// baseRequests are answered before the memory without connections is read,
	// so that what a server allocates once is not charged to the connections.
	baseRequests = 100
)

// arrivals turns spec into an open loop. Where its rate is a share of the
// subject's own, that is measured first, on the process that will be measured.
// All subjects of a block get the same random numbers.
func (b *bench) arrivals(ctx context.Context, run *results.Run, s step, order *spec.Spec) error {
	open := &results.Open{TargetRate: s.workload.rate}
	if s.workload.ceiling > 0 {
		open.CeilingRate = b.file.Ceiling.Rate
		open.TargetRate = s.workload.ceiling * open.CeilingRate
	}
	if s.workload.share > 0 {
		closed := *order
		closed.Connections = b.cfg.Connections
		closed.Window = max(order.Tick, time.Duration(ceilingShare*float64(order.Window)))
		result, err := b.generate(ctx, &closed, func(spec.Event) error { return nil })
		if err != nil {
			return fmt.Errorf("find its ceiling: %w", err)
		}
		if result.Requests == 0 {
			return errors.New("find its ceiling: not one right answer")
		}
		open.CeilingRate = float64(result.Requests) / result.Seconds
		open.TargetRate = s.workload.share * open.CeilingRate
	}
	run.Open = open
	order.Arrivals = &arrive.Plan{Rate: open.TargetRate, Poisson: true, Seed: b.cfg.Seed + uint64(s.block)}
	return nil
}

// fillOpen turns what the generator counted into the run's figures.
func (w *watch) fillOpen(o *spec.Open) (err error) {
	if o == nil {
		return nil
	}
	open := w.run.Open
	open.Due, open.Sent, open.Waited, open.Failed, open.Unfinished = o.Due, o.Sent, o.Waited, o.Failed, o.Unfinished
	if open.Service, err = results.ParseLatency(o.Service); err != nil {
		return err
	}
	if open.SendLag, err = results.ParseLatency(o.Lag); err != nil {
		return err
	}
	open.Pacing, err = results.ParseLatency(o.Pacing)
	return err
}

// baseMemory reads the server's memory before it has connections to keep, but
// after it answered some requests.
func (b *bench) baseMemory(ctx context.Context, run *results.Run, w *workload, srv *server) error {
	transport := &http.Transport{DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: answerTimeout}
	for range baseRequests {
		if _, err := ask(ctx, client, "http://"+srv.addr+srv.prefix, w); err != nil {
			return fmt.Errorf("ask before the connections: %w", err)
		}
	}
	transport.CloseIdleConnections()
	m, err := probe.ReadMemory(srv.pids)
	run.Memory.RSSBaseBytes = m.RSSFinalBytes
	return err
}

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
