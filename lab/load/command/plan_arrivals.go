package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// mostTime is the maximum length of a window if only its number of requests is given.
const mostTime = time.Hour

// planRequests reads the number of requests after which the window ends. It changes defaults:
// there is no warm-up, and no connection without a request.
func (p *plan) planRequests(changed func(string) bool) error {
	l := &p.flags
	if !changed("requests") {
		return nil
	}
	if !changed("warmup") {
		l.warmup = 0
	}
	open := l.rate != "" || l.stages != ""
	if !open && !changed("connections") {
		l.connections = int(min(int64(l.connections), max(l.requests, 1)))
	}
	under := int64(l.pipeline) * int64(p.inFlight())
	switch {
	case l.requests < 1:
		return fmt.Errorf("--requests %d: want at least 1", l.requests)
	case l.find != "":
		return errors.New("--requests and --find: a search tries rates, each for the --duration of a step; leave out one of the two")
	case l.ramp != "":
		return errors.New("--requests and --ramp: the steps of a ramp have lengths; leave out one of the two")
	case open:
	case l.requests < int64(l.connections):
		return fmt.Errorf("--requests %d: %d connections would not all get one; write --connections %[1]d or less", l.requests, l.connections)
	case l.warmup > 0 && l.requests < under:
		return fmt.Errorf("--requests %d: %d are under way when the warm-up ends; write as many or more, or leave out --warmup", l.requests, under)
	}
	return nil
}

// planSpan sets the maximum length of the window, and the interval of the points of its time
// series.
func (p *plan) planSpan(durationGiven bool) {
	if p.flags.requests == 0 {
		p.tick = tickOf(p.duration)
		return
	}
	if !durationGiven && p.flags.stages == "" {
		p.duration = mostTime
	}
	if p.arrivals == nil {
		p.tick = longTick
		if durationGiven {
			p.tick = tickOf(p.duration)
		}
		return
	}
	p.tick = max(tickOf(p.arrivals.Span(uint64(p.flags.requests), p.duration)), shortTick)
}

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

// planRamp makes the ramp of a closed loop. It sets the plan's connections to the maximum of
// the ramp.
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
		p.flags.warmup = 0 // no connections to warm up with
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

// shortestWindow is the minimum length of a ramp, as of any window.
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

// checkThink rejects rates that the users cannot reach: a user who thinks is not free. With a
// scenario this depends on the think times of its requests.
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
		return fmt.Errorf("--think %s: %d users send at most %s, but %s are requested; write --connections %d or more",
			p.flags.users.think, p.inFlight(), perSecond(most), perSecond(rate), int(math.Ceil(rate*think.Mean().Seconds()*1.1*float64(p.flags.connections)/float64(p.inFlight()))))
	}
	return nil
}

// inFlight returns the maximum number of requests at once: each has a user.
func (p *plan) inFlight() int {
	if p.flags.protocol.http2 {
		return p.flags.connections * p.flags.protocol.streams
	}
	return p.flags.connections
}
