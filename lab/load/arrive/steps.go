package arrive

import "time"

// MaxStages is how many stages a plan may have: each is counted by itself.
const MaxStages = 1000

// A Step is a part of a window in which the rate changes linearly, or stays: a stage of the
// plan, or what is left of the window after the last one.
type Step struct {
	From, To   time.Duration // since the window began
	Begin, End float64       // arrivals a second at these times, without bursts
}

// Steps divides a window into the steps of the plan; there are none without stages. Stages
// of duration 0 are no steps, and one that the window ends within ends with it.
func (p *Plan) Steps(window time.Duration) (steps []Step) {
	if len(p.Stages) == 0 {
		return nil
	}
	from, rate := time.Duration(0), p.Rate
	for _, s := range p.Stages {
		if from >= window {
			return steps
		}
		if s.For > 0 {
			step := Step{From: from, To: from + s.For, Begin: rate, End: s.Rate}
			if step.To > window {
				step.End = rate + (s.Rate-rate)*(window-from).Seconds()/s.For.Seconds()
				step.To = window
			}
			steps = append(steps, step)
		}
		from, rate = from+s.For, s.Rate
	}
	if from < window {
		steps = append(steps, Step{From: from, To: window, Begin: rate, End: rate})
	}
	return steps
}
