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

// planRamp makes the ramp of a closed loop. From then on the plan's connections are the most
// that the ramp has.
func (p *plan) planRamp(changed func(string) bool) (err error) {
	if !changed("ramp") {
		return nil
	}
	for _, flag := range []string{"rate", "stages", "find", "burst"} {
		if changed(flag) {
			return fmt.Errorf("--ramp changes the number of connections of a closed loop, and --%s makes an open one: leave out one of the two", flag)
		}
	}
	ramp := &arrive.Ramp{}
	if ramp.Steps, err = arrive.ParseRamp(p.flags.ramp); err != nil {
		return fmt.Errorf("--ramp %s: %w", p.flags.ramp, err)
	}
	if changed("connections") {
		ramp.From = p.flags.connections
	}
	if err := ramp.Validate(); err != nil {
		return fmt.Errorf("--ramp %s: %w; write how many there are, as 30s:100", p.flags.ramp, err)
	}
	if ramp.From == 0 && !changed("warmup") {
		p.flags.warmup = 0 // nobody is there whom the server could warm up for
	}
	if !changed("duration") {
		p.duration = ramp.Duration()
	}
	if p.duration < shortestWindow {
		return fmt.Errorf("--ramp %s: it lasts %v; want at least %v, or give --duration", p.flags.ramp, ramp.Duration(), shortestWindow)
	}
	p.flags.connections = ramp.Peak()
	p.ramp, p.rampText = ramp, fmt.Sprintf("%d, then %s", ramp.From, p.flags.ramp)
	return nil
}

// shortestWindow is that of a ramp, as that of any run.
const shortestWindow = 100 * time.Millisecond

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
