package diagnose

import (
	"cmp"
	"math"
	"slices"
)

// A Cause is one finding: something that costs, what removing it would gain, and what to do.
type Cause struct {
	ID         string   `json:"id"`         // stable, see the table in docs/diagnose.md
	Title      string   `json:"title"`      // in one line
	Gain       Gain     `json:"gain"`       // estimated
	Confidence float64  `json:"confidence"` // 0 to 1: how sure the rule is that this is a cause
	Evidence   []string `json:"evidence"`   // sentences with figures
	Advice     []string `json:"advice"`     // what to do, in the order of effect
	Sites      []Place  `json:"sites,omitempty"`
	Trial      *Trial   `json:"trial,omitempty"` // what was tried; nil: nothing
	// Outside says that the cause is the machine's and not the server's.
	Outside bool `json:"outside,omitempty"`
}

// A Place is code that the cause goes back to, with its part of the cost.
type Place struct {
	Func  string  `json:"func"`
	File  string  `json:"file,omitempty"`
	Line  int     `json:"line,omitempty"`
	Share float64 `json:"share"` // of the cost, 0 to 1
}

// Gain is what removing a cause would change, at the load of the knee. A figure that would not
// change is 0.
type Gain struct {
	CPU     float64 `json:"cpu"`     // share of the CPU time of an answer that would be saved, 0 to 1
	Latency float64 `json:"latency"` // share of the mean latency that would be saved, 0 to 1
	Ceiling float64 `json:"ceiling"` // by which the highest rate would grow: 0.5 is half as much again
	// Fatal: without a change the server stops sooner or later, whatever its speed now: a leak.
	Fatal bool `json:"fatal,omitempty"`
}

// Share returns the greatest of the gains, as a share of what there is now: a ceiling that would
// double counts as much as a latency that would halve.
func (g Gain) Share() float64 {
	return max(g.CPU, g.Latency, 1-1/(1+max(g.Ceiling, 0)))
}

// A Trial is a change that was tried, with its effect.
type Trial struct {
	Change  string  `json:"change"` // as GOGC=400
	Effects []Shift `json:"effects"`
	Refuted bool    `json:"refuted"` // the cause predicted a gain, and there was none
	Text    string  `json:"text"`    // in a sentence
}

// A Shift is the change of one figure.
type Shift struct {
	Figure    string  `json:"figure"` // cpu, latency, ceiling or rss
	Change    float64 `json:"change"` // relative, or bytes of rss
	Low, High float64 // 95 %
	Clear     bool    `json:"clear"` // beyond the noise
}

// A cause of less gain, or of which its rule is less sure, is not reported.
const (
	leastGain       = 0.02
	leastConfidence = 0.3
)

// Reported reports whether a cause is worth a report: of some gain, and sure enough.
func Reported(c *Cause) bool {
	share := c.Gain.Share()
	return !math.IsNaN(share) && (share >= leastGain || c.Gain.Fatal) && c.Confidence >= leastConfidence
}

// Worth is the gain of a cause from which it is worth the work of removing it.
const Worth = 0.05

// Rank puts causes in order: what ends the server first, then by gain and confidence. What the
// machine does comes after the causes in the server. Causes of little gain, or of which the rule is
// not sure, are left out.
func Rank(causes []Cause) []Cause {
	out := slices.DeleteFunc(slices.Clone(causes), func(c Cause) bool { return !Reported(&c) })
	slices.SortStableFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// place is 0 for the causes that come first: those in the server.
func (c *Cause) place() int {
	if c.Outside {
		return 1
	}
	return 0
}

func (c *Cause) weight() float64 {
	w := c.Gain.Share() * c.Confidence
	if c.Gain.Fatal {
		w += c.Confidence
	}
	return w
}

// A Rule finds one cause.
type Rule interface {
	// ID returns the id of the cause.
	ID() string
	// Needs says in words what the rule needs, for the documentation.
	Needs() string
	// Find returns the cause; nil if there is none, or if the evidence is absent.
	Find(e *Evidence) *Cause
}

// Apply applies rules to evidence.
func Apply(rules []Rule, e *Evidence) []Cause {
	var found []Cause
	for _, r := range rules {
		if c := r.Find(e); c != nil {
			found = append(found, *c)
		}
	}
	return Rank(found)
}
