package export

import (
	"fmt"
	"maps"
	"slices"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
)

// The metrics of a result: the figures of the document.
var (
	resValid     = &metric{"redline.result.valid", "", gauge, "1 if every gate passed, 0 if the run is INVALID."}
	resGate      = &metric{"redline.result.gate", "", gauge, "1 if this gate passed, 0 if it failed."}
	resThreshold = &metric{"redline.result.threshold", "", gauge, "1 if this threshold was kept, 0 if it is broken."}
	resSeconds   = &metric{"redline.result.window", "s", gauge, "Length of the window as measured."}
	resRequests  = &metric{"redline.result.requests", "{request}", gauge, "Right answers in the window, or events of streams."}
	resErrors    = &metric{"redline.result.errors", "{error}", gauge, "Errors in the window, by kind."}
	resRatio     = &metric{"redline.result.error", "1", gauge, "Share of errors among errors and right answers, 0 to 1."}
	resMissing   = &metric{"redline.result.unanswered", "{request}", gauge, "Requests without an answer at the end."}
	resRate      = &metric{"redline.result.rate.achieved", "{request}/s", gauge, "Right answers a second."}
	resAsked     = &metric{"redline.result.rate.asked", "{request}/s", gauge, "Requested arrivals a second of an open loop."}
	resHighest   = &metric{"redline.result.rate.highest", "{request}/s", gauge, "The highest rate that --find found."}
	resQuantile  = &metric{"redline.result.latency.quantile", "s", gauge, "Quantile of the latencies in the window; absent without enough samples."}
	resMean      = &metric{"redline.result.latency.mean", "s", gauge, "Mean latency in the window."}
	resMax       = &metric{"redline.result.latency.max", "s", gauge, "Longest latency in the window."}
	resReceived  = &metric{"redline.result.received", "By", gauge, "Bytes that the generator received in the window."}
	resSent      = &metric{"redline.result.sent", "By", gauge, "Bytes that the generator sent in the window."}
	resConns     = &metric{"redline.result.connections", "{connection}", gauge, "Connections made since the generator began."}
	resGenerator = &metric{"redline.result.generator.cpu", "1", gauge, "Share of its core that the generator used; with several generators, the mean."}
	resServer    = &metric{"redline.result.server.cpu", "{cpu}", gauge, "CPUs that the server's processes used."}
	resMemory    = &metric{"redline.result.server.memory", "By", gauge, "Resident memory of the server's processes at the end."}
	resPeak      = &metric{"redline.result.server.memory.peak", "By", gauge, "Peak resident memory of the server's processes."}
	resTarget    = &metric{"redline.result.target.requests", "{request}", gauge, "Right answers to this request of the scenario."}
	resTargetBad = &metric{"redline.result.target.errors", "{error}", gauge, "Failures of this request of the scenario."}
	resTargetLat = &metric{"redline.result.target.latency.quantile", "s", gauge, "Quantile of the latencies of this request of the scenario."}
)

// maxTargets is the maximum number of a scenario's requests that are exported: each is a
// permanent series.
const maxTargets = 100

// addResult adds the figures of a document to a snapshot, and returns notes about omissions.
func addResult(s *snapshot, d *present.Document) (notes []string) {
	s.add(window, 0)
	s.add(resValid, truth(d.Valid))
	for _, g := range gatesOf(d) {
		s.add(resGate, truth(g.Passed), label{"gate", g.Name})
	}
	for i, j := range d.Thresholds {
		same := func(o objective.Judged) bool { return o.Objective == j.Objective }
		if !slices.ContainsFunc(d.Thresholds[:i], same) { // a threshold may be written twice
			s.add(resThreshold, truth(j.Kept), label{"threshold", j.Objective})
		}
	}
	s.add(resSeconds, d.Seconds)
	s.add(resRequests, float64(d.Requests))
	for _, kind := range slices.Sorted(maps.Keys(d.Errors)) {
		s.add(resErrors, float64(d.Errors[kind]), label{errorType, kind})
	}
	s.add(resRatio, d.ErrorRatio)
	unanswered := d.Unanswered
	if d.Open != nil {
		unanswered += d.Open.Unfinished
		s.add(resAsked, d.Open.TargetRate)
	}
	s.add(resMissing, float64(unanswered))
	s.add(resRate, d.RequestsPerSecond)
	if d.Search != nil {
		s.add(resHighest, d.Search.Rate)
	}
	addQuantiles(s, resQuantile, &d.Latency)
	if d.Latency.Count > 0 {
		s.add(resMean, d.Latency.MeanUs/1e6)
		s.add(resMax, d.Latency.MaxUs/1e6)
	}
	s.add(resReceived, float64(d.BytesIn))
	s.add(resSent, float64(d.BytesOut))
	s.add(resConns, float64(d.Connects.Made))
	s.add(resGenerator, d.Generator.CPUUtilisation)
	if d.Server != nil {
		s.add(resServer, d.Server.CPU.Utilisation*float64(max(d.Server.CPUs, 1)))
		s.add(resMemory, float64(d.Server.Memory.RSSFinalBytes))
		s.add(resPeak, float64(d.Server.Memory.RSSPeakBytes))
	}
	return addTargets(s, d.Targets)
}

// gatesOf returns the gates by name. If several have the same name, as those of workers, it
// prefers one that failed.
func gatesOf(d *present.Document) (list []results.Gate) {
	for _, g := range d.Gates {
		i := slices.IndexFunc(list, func(o results.Gate) bool { return o.Name == g.Name })
		switch {
		case i < 0:
			list = append(list, g)
		case !g.Passed:
			list[i] = g
		}
	}
	return list
}

// addTargets adds the requests of a scenario.
func addTargets(s *snapshot, targets []results.Target) (notes []string) {
	if n := len(targets); n > maxTargets {
		notes = []string{fmt.Sprintf("of the %d requests of the scenario the first %d are exported", n, maxTargets)}
		targets = targets[:maxTargets]
	}
	for i := range targets {
		t := &targets[i]
		name := label{"request", t.Name}
		s.add(resTarget, float64(t.Requests), name)
		s.add(resTargetBad, float64(t.Failures()), name)
		addQuantiles(s, resTargetLat, &t.Latency, name)
	}
	return notes
}

// addQuantiles adds the quantiles with enough samples.
func addQuantiles(s *snapshot, m *metric, l *results.Latency, labels ...label) {
	for _, q := range []struct {
		of float64
		us *float64
	}{{0.5, l.P50}, {0.9, l.P90}, {0.99, l.P99}, {0.999, l.P999}, {0.9999, l.P9999}} {
		if q.us != nil {
			s.add(m, *q.us/1e6, append(slices.Clone(labels), quantileOf(q.of))...)
		}
	}
}

// truth returns 1 or 0.
func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
