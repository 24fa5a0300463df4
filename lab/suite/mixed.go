package suite

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// beside is the slow requests of a mixed workload.
type beside struct {
	cpu  time.Duration // that one takes
	rate float64       // of them a second
	path string        // set when the machine's speed is known
}

// The targets of a mixed workload, by name.
const (
	quickTarget = "quick"
	slowTarget  = "slow"
)

// calibrate finds out how many rounds of work the slow requests of mixed workloads are:
// once a run, so that every subject does the same work. A round is what peers do for
// GET /burn: the SHA-256 of the one before.
func (b *bench) calibrate() {
	each := time.Duration(0)
	for _, w := range b.loads {
		if w.beside == nil {
			continue
		}
		if each == 0 {
			each = roundTime()
		}
		w.beside.path = fmt.Sprintf("/burn?rounds=%d", max(1, w.beside.cpu*roundUnit/each))
	}
}

// roundUnit is how many rounds roundTime takes the time of.
const roundUnit = 10_000

// roundTime is how long roundUnit rounds take: the shortest of some tries, which
// nothing interrupted.
func roundTime() (least time.Duration) {
	var sum [sha256.Size]byte
	for range 7 {
		begin := time.Now()
		for range roundUnit {
			sum = sha256.Sum256(sum[:])
		}
		if took := time.Since(begin); least == 0 || took < least {
			least = took
		}
	}
	runtime.KeepAlive(sum)
	return max(least, 1)
}

// A target is one of the requests that a workload mixes, by weight.
type target struct {
	Name   string           `json:"name"`
	URL    string           `json:"url"`
	Weight float64          `json:"weight"`
	Checks []map[string]any `json:"checks"`
}

// mix turns spec into one of different requests, chosen by their weights, if the workload
// is one.
func (b *bench) mix(order *spec.Spec, s step, srv *server) error {
	w := s.workload
	ok := []map[string]any{{"status": 200}}
	var targets []target
	switch {
	case w.beside != nil:
		targets = []target{
			{quickTarget, quickPath, quickRate, ok},
			{slowTarget, w.beside.path, w.beside.rate, ok},
		}
	case w.parts != nil:
		for _, p := range w.parts {
			body := map[string]any{"body": map[string]string{"equals": string(patternOf(p.size))}}
			targets = append(targets, target{p.name, p.path(), p.weight, append(ok[:1:1], body)})
		}
	default:
		return nil
	}
	text, err := json.Marshal(map[string]any{"base": "http://" + srv.addr + srv.prefix, "targets": targets})
	if err != nil {
		return fmt.Errorf("write the mixed requests: %w", err)
	}
	order.Request, order.Expect = nil, spec.Expect{}
	order.Scenario = &spec.Scenario{Name: "mixed.json", Text: text, Seed: b.cfg.Seed + uint64(s.block)}
	return nil
}

// fillTargets takes what the targets of a mixed workload came to. Where there are slow ones
// the run's latency is that of the quick ones.
func (w *watch) fillTargets(r *spec.Result) error {
	for _, t := range r.Targets {
		latency, err := results.ParseLatency(t.Histogram)
		if err != nil {
			return fmt.Errorf("latency of %s: %w", t.Name, err)
		}
		w.run.Targets = append(w.run.Targets, results.Target{
			Name: t.Name, Requests: t.Requests, Errors: t.Errors, Checks: t.Checks, Latency: latency,
		})
		if t.Name == quickTarget {
			w.run.Latency = latency
		}
	}
	return nil
}
