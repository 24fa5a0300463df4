package rules

import (
	"fmt"
	"math"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

// level says how general a cause is. A cause is reduced by what those of lower levels explain.
type level int

const (
	specific level = iota // one mistake in one place
	broad                 // a kind of work, such as JSON
	general               // a resource, such as the CPU
)

// A rule finds one cause.
type rule struct {
	id       string
	level    level
	meaning  string // in the table of docs/diagnose.md
	needs    string
	estimate string // how the gain is estimated
	find     func(v *view) *finding
}

// ID returns the id of the cause.
func (r rule) ID() string { return r.id }

// Needs says in words what the rule needs.
func (r rule) Needs() string { return r.needs }

// Find returns the cause; nil if there is none, or if the evidence is absent. It does not
// subtract what other causes explain: see [Find].
func (r rule) Find(e *diagnose.Evidence) *diagnose.Cause {
	f := r.apply(newView(e))
	if f == nil {
		return nil
	}
	return &f.Cause
}

// apply returns what the rule finds, complete and within bounds.
func (r rule) apply(v *view) *finding {
	f := r.find(v)
	if f == nil || !f.tidy() {
		return nil
	}
	v.weigh(f)
	f.ID, f.level = r.id, r.level
	f.Advice = append(f.Advice, "More: docs/diagnose.md#"+r.id)
	return f
}

// A finding is a cause with what it counts and what it explains.
type finding struct {
	diagnose.Cause
	level  level
	cpu    *diagnose.Stacks   // CPU stacks that the gain counts
	allocs *diagnose.Stacks   // allocations that the gain counts
	waits  *diagnose.Stacks   // waiting goroutines that the gain counts
	claims diagnose.Match     // CPU and allocations that it explains beyond doubt; nil: none
	holds  func(*stack) bool  // waiting goroutines that it explains; nil: none
	blames map[string]float64 // shares of other causes that it explains, by id
}

// mostCeiling bounds a ceiling: what limits a server at eleven times its rate is unknown.
const mostCeiling = 10

// tidy bounds the figures. It reports whether they are numbers, and there is any gain.
func (f *finding) tidy() bool {
	g := &f.Gain
	for _, p := range []*float64{&g.CPU, &g.Latency, &g.Ceiling, &f.Confidence} {
		if math.IsNaN(*p) || math.IsInf(*p, 0) {
			return false
		}
	}
	g.CPU, g.Latency = bound(g.CPU, 0, 0.99), bound(g.Latency, 0, 0.99)
	g.Ceiling, f.Confidence = bound(g.Ceiling, 0, mostCeiling), bound(f.Confidence, 0, 1)
	return g.Share() > 0 || g.Fatal
}

func bound(x, low, high float64) float64 { return min(max(x, low), high) }

// All returns the rules of all causes, in the order of the documentation. The caller owns the
// list.
func All() []diagnose.Rule {
	var all []diagnose.Rule
	for _, r := range every() {
		all = append(all, r)
	}
	return all
}

func every() []rule {
	var all []rule
	for _, family := range [][]rule{memoryRules, codeRules, waitingRules, sleepingRules, downstreamRules, networkRules, limitRules, sharedRules, neighbourRules, leakRules} {
		all = append(all, family...)
	}
	return all
}

// Find returns the causes in the evidence in the order of [diagnose.Rank], each without what more
// specific causes explain. It never panics, whatever the evidence.
func Find(e *diagnose.Evidence) []diagnose.Cause {
	v := newView(e)
	var found []*finding
	for _, r := range every() {
		if f := r.apply(v); f != nil && diagnose.Reported(&f.Cause) { // what is not reported explains nothing
			found = append(found, f)
		}
	}
	causes := make([]diagnose.Cause, 0, len(found))
	for _, f := range found {
		f.subtract(found)
		causes = append(causes, f.Cause)
	}
	return diagnose.Rank(causes)
}

// subtract reduces the gain by what others explain of it.
func (f *finding) subtract(others []*finding) {
	left := 1.0
	var claims []diagnose.Match
	var holders []func(*stack) bool
	for _, o := range others {
		if o == f {
			continue
		}
		left *= 1 - bound(o.blames[f.ID], 0, 1)
		if o.level >= f.level {
			continue
		}
		if o.claims != nil {
			claims = append(claims, o.claims)
		}
		if o.holds != nil {
			holders = append(holders, o.holds)
		}
	}
	if len(claims) > 0 {
		m := diagnose.Any(claims...)
		left *= 1 - max(f.cpu.Share(m), f.allocs.Share(m))
	}
	if f.waits != nil && f.waits.Total > 0 {
		explained := f.waits.Filter(func(s *stack) bool {
			for _, h := range holders {
				if h(s) {
					return true
				}
			}
			return false
		})
		left *= 1 - explained.Total/f.waits.Total
	}
	f.Gain.CPU *= left
	f.Gain.Latency *= left
	f.Gain.Ceiling *= left
	if f.Gain.Fatal {
		f.Confidence *= left // what a leak explains is not another leak
	}
}

// Table returns the table of causes for docs/diagnose.md, in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| cause | what it means | needs | how the gain is estimated |\n|---|---|---|---|\n")
	for _, r := range every() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", r.id, r.id, r.meaning, r.needs, r.estimate)
	}
	return b.String()
}
