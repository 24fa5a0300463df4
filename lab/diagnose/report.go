package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// SchemaName names the format of a report in JSON.
const SchemaName = "redline.diagnosis/1"

// A Report is the result of a diagnosis.
type Report struct {
	Schema    string          `json:"schema"` // SchemaName
	Tool      string          `json:"tool"`   // version of the redline command
	Command   []string        `json:"command"`
	Started   time.Time       `json:"started"`
	Ended     time.Time       `json:"ended"`
	URL       string          `json:"url"`
	Partial   string          `json:"partial,omitempty"`   // why the diagnosis is not complete; empty: it is
	Valid     bool            `json:"valid"`               // the load was valid: the figures are the server's
	Why       []string        `json:"why,omitempty"`       // it was not
	Disturbed string          `json:"disturbed,omitempty"` // in a sentence, what took the CPUs meanwhile: causes and shares hold, rates are lower and latencies higher; empty: nothing
	Doubts    []string        `json:"doubts,omitempty"`    // gates that failed under the lower loads, on which the causes do not depend
	Verdict   string          `json:"verdict"`             // in a sentence or two
	Ceiling   float64         `json:"ceiling"`             // highest rate of the sweep, right answers a second
	Knee      int             `json:"knee"`                // connections at which 90 % of it are reached
	Causes    []Cause         `json:"causes"`              // the greatest gain first
	Time      []Spend         `json:"time,omitempty"`      // where requests spend their time, the greatest part first
	Refuted   []Cause         `json:"refuted,omitempty"`   // causes that a trial did not confirm
	Trials    []Trial         `json:"trials,omitempty"`    // that belong to no cause
	Advice    []Advice        `json:"advice,omitempty"`    // from the source
	Machine   results.Machine `json:"machine"`
	Evidence
}

// Advice is what the source says about one place that allocates.
type Advice struct {
	File   string  `json:"file"`
	Line   int     `json:"line"`
	What   string  `json:"what"`   // that is allocated, as the compiler names it
	Reason string  `json:"reason"` // why it escapes
	Bytes  float64 `json:"bytes"`  // a right answer
	Do     string  `json:"do"`
}

// Conclude sets the ceiling, the knee, the validity and the verdict from the evidence and the
// causes.
func (r *Report) Conclude() {
	r.Schema = SchemaName
	for _, p := range r.Sweep {
		r.Ceiling = max(r.Ceiling, p.Rate)
	}
	for _, p := range r.Sweep {
		if p.Rate >= KneeShare*r.Ceiling {
			r.Knee = p.Connections
			break
		}
	}
	r.Why = nil
	r.Valid = len(r.Loads) > 0
	bad := slices.IndexFunc(r.Sweep, func(p Point) bool { return p.Rate == r.Ceiling && !p.Valid })
	if bad >= 0 && r.Ceiling > 0 {
		r.Valid = false
		r.Why = append(r.Why, fmt.Sprintf("sweep, %d connections: %s", r.Sweep[bad].Connections, r.Sweep[bad].Why))
	}
	r.Doubts, r.Disturbed = nil, ""
	for i := range r.Loads {
		l := &r.Loads[i]
		r.Doubts = append(r.Doubts, prefixed(l.Name, l.Generator.Notes...)...)
		if l.Watch.Sparse() {
			r.Doubts = append(r.Doubts, prefixed(l.Name, l.Watch.Taken())...)
		}
		switch {
		case l.Name == Knee:
			r.judge(l)
		case !l.Generator.Valid:
			r.Doubts = append(r.Doubts, prefixed(l.Name, l.Generator.Why)...)
		}
	}
	r.Verdict = r.verdict()
}

// judge says whether the figures of the highest load are the server's, and what disturbed them.
func (r *Report) judge(knee *Load) {
	if !knee.Generator.Valid {
		r.Valid = false
		r.Why = append(r.Why, prefixed(knee.Name, knee.Generator.Why)...)
	}
	if knee.Errors >= worthSaying {
		r.Valid = false
		why := knee.Name + ": " + report.Share(knee.Errors) + " of the answers were wrong or missing"
		if len(knee.Kinds) > 0 {
			why += " (" + results.ErrorKinds(knee.Kinds) + ")"
		}
		r.Why = append(r.Why, why)
	}
	if knee.Kernel == nil && len(knee.Watch.Figures) == 0 {
		r.Valid = false
		r.Why = append(r.Why, knee.Name+": nothing of the server but its answers could be seen, so causes are missing")
	}
	r.Disturbed = disturbance(knee)
}

func prefixed(name string, texts ...string) (out []string) {
	for _, text := range texts {
		out = append(out, name+": "+text)
	}
	return out
}

// The shares of the CPUs that others may take without a word.
const (
	leastOthers = 0.05
	leastStolen = 0.02
)

// disturbance says in a sentence who took the CPUs under a load; empty: nobody.
func disturbance(l *Load) string {
	var by []string
	others, stolen := l.Taken()
	if others >= leastOthers {
		by = append(by, "other processes took "+report.Share(others))
	}
	if stolen >= leastStolen {
		by = append(by, "the hypervisor took "+report.Share(stolen))
	}
	if len(by) == 0 {
		return ""
	}
	return strings.Join(by, " and ") + " of the CPUs' time: the highest rate is at least the one here, latencies are at most these, and the causes and their shares hold."
}

// KneeShare is the share of the ceiling that is reached at the knee.
const KneeShare = 0.9
