package suite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
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
