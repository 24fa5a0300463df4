package gather

import (
	"context"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
)

const (
	restWindow = time.Second     // a look at the server at rest
	restAfter  = 2 * time.Second // until what belongs to the load has ended
)

// rest looks at the server before the load.
func (o *Options) rest(ctx context.Context, e *diagnose.Evidence) (map[string]float64, error) {
	o.say("rest  before the load")
	l := o.still(ctx, e)
	return lasts(l), ctx.Err()
}

// after looks at the server when the load is over.
func (o *Options) after(ctx context.Context, e *diagnose.Evidence, before map[string]float64) error {
	o.say("rest  after the load")
	select {
	case <-time.After(restAfter):
	case <-ctx.Done():
		return ctx.Err()
	}
	l := o.still(ctx, e)
	e.Rest = &diagnose.Rest{After: restAfter + restWindow, Before: before, Later: lasts(l), Wall: l.Wall}
	for i := range e.Sweep {
		e.Rest.Answers += e.Sweep[i].Rate * (o.Step + o.Warmup).Seconds()
	}
	for i := range e.Loads {
		e.Rest.Answers += e.Loads[i].Rate * (e.Loads[i].Seconds + o.Warmup.Seconds())
	}
	return ctx.Err()
}

// still looks at the server without load.
func (o *Options) still(ctx context.Context, e *diagnose.Evidence) *diagnose.Load {
	l := &diagnose.Load{}
	short := *o
	short.Window = restWindow + spare
	for _, err := range short.look(ctx, l) {
		e.Miss(err)
	}
	return l
}

// lasts returns the last values of the watch's figures.
func lasts(l *diagnose.Load) map[string]float64 {
	out := map[string]float64{}
	for name, r := range l.Watch.Figures {
		out[name] = r.Last
	}
	return out
}
