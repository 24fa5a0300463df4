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
	// ceilingShare is the duration, in windows, of the closed loop that measures a
	// subject's maximum rate.
	ceilingShare = 0.5

	// baseRequests is the number of requests before the memory without connections is
	// read, so that one-time allocations are not charged to the connections.
	baseRequests = 100
)

// arrivals makes order an open loop. If its rate is a share of the subject's own rate,
// arrivals first measures that on the same process. All subjects of a block get the same
// random numbers.
func (b *bench) arrivals(ctx context.Context, run *results.Run, s step, order *spec.Spec) error {
	open := &results.Open{TargetRate: s.workload.rate}
	if s.workload.ceiling > 0 {
		open.CeilingRate = b.ceiling(s.workload).Rate
		open.TargetRate = s.workload.ceiling * open.CeilingRate
	}
	if s.workload.share > 0 {
		closed := *order
		closed.Connections = b.cfg.Connections
		closed.Window = max(order.Tick, time.Duration(ceilingShare*float64(order.Window)))
		result, err := b.generate(ctx, &closed, func(spec.Event) error { return nil })
		if err != nil {
			return fmt.Errorf("measure its maximum rate: %w", err)
		}
		if result.Requests == 0 {
			return errors.New("measure its maximum rate: no correct response")
		}
		open.CeilingRate = float64(result.Requests) / result.Seconds
		open.TargetRate = s.workload.share * open.CeilingRate
	}
	run.Open = open
	order.Arrivals = &arrive.Plan{Rate: open.TargetRate, Poisson: true, Seed: b.cfg.Seed + uint64(s.block)}
	return nil
}

// fillOpen sets the run's figures of an open loop.
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

// baseMemory reads the server's memory before idle connections are opened, after the
// server has answered some requests.
func (b *bench) baseMemory(ctx context.Context, run *results.Run, w *workload, srv *server) error {
	transport := &http.Transport{DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: answerTimeout}
	for range baseRequests {
		if _, err := ask(ctx, client, "http://"+srv.addr+srv.prefix, w); err != nil {
			return fmt.Errorf("send requests before the connections: %w", err)
		}
	}
	transport.CloseIdleConnections()
	m, err := probe.ReadMemory(srv.pids)
	run.Memory.RSSBaseBytes = m.RSSFinalBytes
	return err
}

// ceiling returns the rate that the rate of w is a share of.
func (b *bench) ceiling(w *workload) *results.Ceiling {
	if w.secure != nil {
		return b.file.CeilingTLS
	}
	return b.file.Ceiling
}

// measureCeilings measures the maximum rates that workloads have a share of, before the
// first block: that of limit with plaintext, even if limit is not among the subjects, and
// with tls that of the baseline, or else of the first subject that serves tls.
func (b *bench) measureCeilings(ctx context.Context, c *Catalogue) error {
	share := func(overTLS bool) bool {
		return slices.ContainsFunc(b.loads, func(w *workload) bool { return w.ceiling > 0 && (w.secure != nil) == overTLS })
	}
	if share(false) {
		s, among, err := b.floorSubject(ctx, c)
		if err != nil {
			return fmt.Errorf("measure maximum rate: %w", err)
		}
		w := plaintext()
		if b.file.Ceiling, err = b.measureCeiling(ctx, s, &w); err != nil {
			return err
		}
		if !among {
			b.file.Notes = append(b.file.Notes, fmt.Sprintf(
				"%s is not among the subjects, but was measured: the rates of this comparison are shares of its %.0f requests per second",
				s.Name, b.file.Ceiling.Rate))
		}
	}
	if !share(true) {
		return nil
	}
	w := findSecure(httpsPlain)
	w.name = httpsPlain
	s := b.reference(w)
	if s == nil {
		return fmt.Errorf("measure maximum rate of %s: no subject serves it", w.name)
	}
	if err := b.sameWork(ctx, s, []*workload{w}); err != nil {
		return fmt.Errorf("measure maximum rate: %w", err)
	}
	var err error
	b.file.CeilingTLS, err = b.measureCeiling(ctx, s, w)
	return err
}

// reference returns the subject whose maximum rate is the common reference of w: the
// baseline, or else the first that serves it; nil: none does.
func (b *bench) reference(w *workload) (first *Subject) {
	for _, s := range b.subjects {
		switch {
		case !s.serves(w) || s.role == roleTwin:
		case s.role == roleBaseline:
			return s
		case first == nil:
			first = s
		}
	}
	return first
}

// measureCeiling measures the rate of one closed loop of w.
func (b *bench) measureCeiling(ctx context.Context, s *Subject, w *workload) (*results.Ceiling, error) {
	now := Step{Phase: "ceiling", Subject: s.Name, Workload: w.name}
	b.tell(now)
	once := lookout{busy: b.inUse, left: mostWait} // others would lower the rates of all runs
	if err := once.wait(ctx, func(busy float64) { b.waiting(now, busy) }); err != nil {
		return nil, err
	}
	run, err := b.measure(ctx, step{workload: w, subject: s})
	switch {
	case err != nil:
		return nil, err
	case run.Failed != "":
		err = errors.New(run.Failed)
	case results.CountErrors(run.Errors) > 0:
		err = fmt.Errorf("wrong responses: %s", results.ErrorKinds(run.Errors))
	case run.Requests == 0:
		err = errors.New("no correct response")
	}
	if err != nil {
		return nil, fmt.Errorf("measure maximum rate of %s: %w", s.Name, err)
	}
	return &results.Ceiling{
		Subject: s.Name, Rate: run.Rate, WindowSeconds: run.WindowSeconds, Connections: b.connections(w),
		CPUPerRequestUs: run.CPU.PerRequestUs, Bound: run.Generator.Bound, Gates: run.Gates,
	}, nil
}

// Measurable splits names into the workloads that can be measured and, if limit is not
// available, those whose rate is a share of its maximum: limit is built from a checkout.
// Unknown names are kept.
func (c *Catalogue) Measurable(names []string) (kept, left []string) {
	_, err := c.find(floorName)
	for _, name := range names {
		if w := findWorkload(name); err != nil && w != nil && w.ceiling > 0 && w.secure == nil {
			left = append(left, name)
		} else {
			kept = append(kept, name)
		}
	}
	return kept, left
}

// floorSubject returns limit, ready to start, and whether it is among the subjects.
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

// gatesOf returns the gates of a workload's arrivals. With as many connections as in a
// closed loop, arrivals wait for a free one: that time is the subject's, and part of its
// latency. Only the generator's own lateness makes such a run doubtful.
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

// The least limits of the generator's own lateness at p99, in microseconds: alone on its
// CPU, and sharing it with a backend. The limit is a tenth of the median if that is more.
const ownLag, sharedLag = 50.0, 500.0

// short describes how far a subject stayed below the common rate, or returns "". It
// applies only if no other gate shows a disturbance.
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
		case g.Name != "steady" && g.Name != "answers": // a growing backlog is a trend
			return ""
		}
	}
	if !behind {
		return ""
	}
	return fmt.Sprintf("did not reach the rate: %.1f %% of %.0f requests per second were sent",
		100*float64(run.Open.Sent)/float64(run.Open.Due), run.Open.TargetRate)
}
