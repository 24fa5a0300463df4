package command

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// planArrivals makes the arrivals of an open loop.
func (p *plan) planArrivals(durationGiven bool) (err error) {
	poisson, err := arrive.ParseArrivals(p.flags.arrivals)
	if err != nil {
		return fmt.Errorf("--arrivals %s: %w", p.flags.arrivals, err)
	}
	if p.flags.rate == "" && p.flags.stages == "" {
		return nil
	}
	plan := &arrive.Plan{Poisson: poisson, Seed: p.seed}
	var words []string
	if p.flags.rate != "" {
		if plan.Rate, err = arrive.ParseRate(p.flags.rate); err != nil {
			return fmt.Errorf("--rate %s: %w", p.flags.rate, err)
		}
		words = append(words, perSecond(plan.Rate))
	}
	if p.flags.stages != "" {
		if plan.Stages, err = arrive.ParseStages(p.flags.stages); err != nil {
			return fmt.Errorf("--stages %s: %w", p.flags.stages, err)
		}
		if !durationGiven {
			p.duration = plan.Duration()
		}
		if p.duration < 100*time.Millisecond {
			return fmt.Errorf("--stages %s: they last %v in all; want at least 100ms, or give --duration", p.flags.stages, plan.Duration())
		}
		words = append(words, "stages "+p.flags.stages)
	}
	if p.flags.burst != "" {
		if plan.Burst, err = arrive.ParseBurst(p.flags.burst); err != nil {
			return fmt.Errorf("--burst %s: %w", p.flags.burst, err)
		}
		words = append(words, "burst "+p.flags.burst)
	}
	if err := plan.Validate(); err != nil {
		return fmt.Errorf("--%s: %w; write a rate above 0, as --rate 1000", cmp.Or(flagOf(p.flags.rate, "rate"), "stages"), err)
	}
	p.arrivals, p.arrivalsText = plan, strings.Join(append(words, spread(poisson)), ", ")
	return nil
}

func flagOf(value, flag string) string {
	if value == "" {
		return ""
	}
	return flag
}

func spread(poisson bool) string {
	if poisson {
		return "poisson"
	}
	return "constant"
}

func perSecond(rate float64) string { return fmt.Sprintf("%.6g/s", rate) }

// checkThink refuses arrivals for which there cannot be users: one who thinks is not
// free. With a scenario it depends on what its requests say themselves.
func (p *plan) checkThink() error {
	if p.flags.users.think == "" || p.flags.users.targets != "" || p.arrivals == nil {
		return nil
	}
	think, err := dist.Parse(p.flags.users.think)
	if err != nil {
		return fmt.Errorf("--think: %w", err)
	}
	most, rate := float64(p.inFlight())/think.Mean().Seconds(), p.arrivals.Rate
	if most < rate {
		return fmt.Errorf("--think %s: %d users ask at most %s then, and %s are asked for; write --connections %d or more",
			p.flags.users.think, p.inFlight(), perSecond(most), perSecond(rate), int(math.Ceil(rate*think.Mean().Seconds()*1.1*float64(p.flags.connections)/float64(p.inFlight()))))
	}
	return nil
}

// inFlight is how many requests there may be at once: each has a user.
func (p *plan) inFlight() int {
	if p.flags.protocol.http2 {
		return p.flags.connections * p.flags.protocol.streams
	}
	return p.flags.connections
}
