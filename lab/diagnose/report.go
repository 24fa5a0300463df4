package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// SchemaName names the format of a report in JSON.
const SchemaName = "redline.diagnosis/1"

// A Report is the result of a diagnosis.
type Report struct {
	Schema  string          `json:"schema"` // SchemaName
	Tool    string          `json:"tool"`   // version of the redline command
	Command []string        `json:"command"`
	Started time.Time       `json:"started"`
	Ended   time.Time       `json:"ended"`
	URL     string          `json:"url"`
	Partial string          `json:"partial,omitempty"` // why the diagnosis is not complete; empty: it is
	Valid   bool            `json:"valid"`             // the load was valid: the figures are the server's
	Why     []string        `json:"why,omitempty"`     // it was not
	Doubts  []string        `json:"doubts,omitempty"`  // gates that failed under the lower loads, on which the causes do not depend
	Verdict string          `json:"verdict"`           // in a sentence or two
	Ceiling float64         `json:"ceiling"`           // highest rate of the sweep, right answers a second
	Knee    int             `json:"knee"`              // connections at which 90 % of it are reached
	Causes  []Cause         `json:"causes"`            // the greatest gain first
	Refuted []Cause         `json:"refuted,omitempty"` // causes that a trial did not confirm
	Trials  []Trial         `json:"trials,omitempty"`  // that belong to no cause
	Advice  []Advice        `json:"advice,omitempty"`  // from the source
	Machine results.Machine `json:"machine"`
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
	r.Doubts = nil
	for i := range r.Loads {
		switch l := &r.Loads[i]; {
		case l.Generator.Valid:
		case l.Name == Knee:
			r.Valid = false
			r.Why = append(r.Why, l.Name+": "+l.Generator.Why)
		default:
			r.Doubts = append(r.Doubts, l.Name+": "+l.Generator.Why)
		}
	}
	r.Verdict = r.verdict()
}

// KneeShare is the share of the ceiling that is reached at the knee.
const KneeShare = 0.9
