package arrive

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// maxRate is one arrival a nanosecond, the resolution of time.
const maxRate = 1e9

// Plan defines when requests are to be sent, as a rate over time. The zero value has no
// arrivals. A plan in use must not change.
type Plan struct {
	Rate    float64 `json:"rate"`             // arrivals a second at the start, and permanently without Stages
	Stages  []Stage `json:"stages,omitempty"` // one after the other
	Burst   Burst   `json:"burst,omitzero"`
	Poisson bool    `json:"poisson,omitempty"` // independent arrivals instead of even ones
	Seed    uint64  `json:"seed"`              // of Poisson arrivals: the same seed results in the same plan
	Phase   float64 `json:"phase,omitempty"`   // of even arrivals: delay as a fraction of the interval, 0 to 1
}

// Stage changes the rate linearly; a stage of duration 0 is a step.
type Stage struct {
	For  time.Duration `json:"for"`
	Rate float64       `json:"rate"` // arrivals a second at its end
}

// Burst periodically multiplies the rate by Factor: at each multiple of Every, beginning
// with Every itself, for the duration For. The zero value is no burst.
type Burst struct {
	Factor float64       `json:"factor"`
	Every  time.Duration `json:"every"`
	For    time.Duration `json:"for"`
}

// Validate returns an error that names the first invalid part of the plan.
func (p *Plan) Validate() error {
	if err := checkRate(p.Rate); err != nil {
		return err
	}
	if !(p.Phase >= 0 && p.Phase < 1) {
		return fmt.Errorf("a phase of %g is not from 0 to less than 1", p.Phase)
	}
	some := p.Rate > 0
	var total time.Duration
	for i, s := range p.Stages {
		if s.For < 0 || total+s.For < total {
			return fmt.Errorf("stage %d lasts %v", i+1, s.For)
		}
		total += s.For
		if err := checkRate(s.Rate); err != nil {
			return fmt.Errorf("stage %d: %w", i+1, err)
		}
		some = some || s.Rate > 0
	}
	if !some {
		return errors.New("the rate is 0 throughout")
	}
	return p.Burst.validate()
}

// checkRate also rejects NaN.
func checkRate(rate float64) error {
	if rate >= 0 && rate <= maxRate {
		return nil
	}
	return fmt.Errorf("a rate of %g a second is not between 0 and %g", rate, maxRate)
}

func (b Burst) validate() error {
	switch {
	case b == Burst{}:
	case !(b.Factor > 1) || b.Factor > maxRate:
		return fmt.Errorf("a burst multiplies the rate by %g, which must be more than 1", b.Factor)
	case b.For <= 0 || b.For >= b.Every:
		return fmt.Errorf("a burst lasts %v of every %v", b.For, b.Every)
	}
	return nil
}

// Duration returns the total duration of the stages; 0 without stages.
func (p *Plan) Duration() (d time.Duration) {
	for _, s := range p.Stages {
		d += s.For
	}
	return d
}

// First returns the plan of a warm-up: endless, at the initial rate of p, without bursts,
// and with other random numbers.
func (p *Plan) First() *Plan {
	return &Plan{Rate: p.base(0).rate, Poisson: p.Poisson, Seed: ^p.Seed, Phase: p.Phase}
}

// piece is an interval of a plan in which the rate is linear.
type piece struct {
	begin, end int64   // nanoseconds since the plan began; end is math.MaxInt64 in the last one
	rate       float64 // at its start, a second
	slope      float64 // of the rate, a second each second
	count      float64 // arrivals in it: the integral of the rate
}

// piece returns the interval that begins at a time.
func (p *Plan) piece(begin int64) piece {
	c := p.base(begin)
	if c.rate > 0 || c.slope != 0 { // zero multiplied by any factor has no edges
		p.Burst.cut(&c)
	}
	switch {
	case c.end < math.MaxInt64:
		s := float64(c.end-begin) / 1e9
		c.count = max(0, (c.rate+c.slope*s/2)*s)
	case c.rate > 0:
		c.count = math.Inf(1)
	}
	return c
}

// base returns the interval without bursts and without its count.
func (p *Plan) base(begin int64) piece {
	from, rate := int64(0), p.Rate
	for _, s := range p.Stages {
		end := from + int64(s.For)
		if begin < end {
			slope := (s.Rate - rate) / s.For.Seconds()
			return piece{begin: begin, end: end, rate: max(0, rate+slope*float64(begin-from)/1e9), slope: slope}
		}
		from, rate = end, s.Rate
	}
	return piece{begin: begin, end: math.MaxInt64, rate: rate}
}

// cut ends c where a burst begins or ends, and multiplies the rate within a burst.
func (b Burst) cut(c *piece) {
	if b.Every == 0 {
		return
	}
	phase := c.begin % int64(b.Every)
	edge := c.begin - phase + int64(b.Every)
	if c.begin >= int64(b.Every) && phase < int64(b.For) {
		edge = c.begin - phase + int64(b.For)
		c.rate *= b.Factor
		c.slope *= b.Factor
	}
	c.end = min(c.end, edge)
}

// Span is how long the first n arrivals take: until the next one after them is due, and
// limit at most. It walks over them.
func (p *Plan) Span(n uint64, limit time.Duration) time.Duration {
	for t := p.Times(); ; n-- {
		at, ok := t.Next()
		if !ok || at >= int64(limit) {
			return limit
		}
		if n == 0 {
			return time.Duration(at)
		}
	}
}

// Count is how many arrivals are expected between two times since the plan began: the
// integral of the rate. It walks over the stages and bursts in between.
func (p *Plan) Count(from, to time.Duration) (n float64) {
	for at := max(0, int64(from)); at < int64(to); {
		c := p.piece(at)
		end := min(c.end, int64(to))
		s := float64(end-at) / 1e9
		n += max(0, (c.rate+c.slope*s/2)*s)
		at = end
	}
	return n
}
