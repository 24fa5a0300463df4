package gather

import (
	"context"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/load/command"
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

// after looks at the server when the load is over. If memory is left, it makes sure that this is no
// garbage, and that a second load leaves as much again.
func (o *Options) after(ctx context.Context, e *diagnose.Evidence, before map[string]float64) error {
	o.say("rest  after the load")
	ended := time.Now()
	l, err := o.settled(ctx, e)
	if err != nil {
		return err
	}
	r := &diagnose.Rest{After: time.Since(ended), Before: before, Later: lasts(l), Wall: l.Wall}
	e.Rest = r
	for i := range e.Sweep {
		r.Answers += e.Sweep[i].Rate * (o.Step + o.Warmup).Seconds()
	}
	for i := range e.Loads {
		r.Answers += e.Loads[i].Rate * (e.Loads[i].Seconds + o.Warmup.Seconds())
	}
	if m := r.Memory(); !m.Suspect() || e.Knee() == nil {
		return nil
	}
	o.say("rest  memory is left: two collections")
	answers, cycles, err := o.trickle(ctx, e)
	if err != nil {
		return err
	}
	r.Answers, r.Collections = r.Answers+answers, cycles
	if l, err = o.settled(ctx, e); err != nil {
		return err
	}
	r.Later, r.After = lasts(l), time.Since(ended)
	if !r.Memory().Suspect() {
		return nil
	}
	return o.again(ctx, e)
}

// settled looks at the server when what belongs to a load has ended.
func (o *Options) settled(ctx context.Context, e *diagnose.Evidence) (*diagnose.Load, error) {
	select {
	case <-time.After(restAfter):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return o.still(ctx, e), ctx.Err()
}

const (
	// collections are enough that what was garbage, or was kept by a finalizer or a pool, is gone.
	collections = 2
	// mostRounds bounds the trickle: with a large heap collections are rare.
	mostRounds = 8
	trickling  = 2 // connections
)

// trickle sends few requests until the collector of a Go program has run. The live heap is known
// only as of its last collection, which was under load.
func (o *Options) trickle(ctx context.Context, e *diagnose.Evidence) (answers, cycles float64, err error) {
	if e.Server.Language != Go {
		return 0, 0, nil
	}
	for n := 0; n < mostRounds && cycles < collections; n++ {
		l, err := o.repeat(ctx, e, command.Shape{Connections: trickling, Window: max(o.Step, time.Second)})
		if err != nil {
			return answers, cycles, err
		}
		answers, cycles = answers+l.Rate*(l.Seconds+o.Warmup.Seconds()), cycles+l.Watch.Totals["gc_cycles"]
	}
	return answers, cycles, nil
}

// mostAgain bounds the second load.
const mostAgain = 10 * time.Second

// again loads the server as much as before, and looks at what that left.
func (o *Options) again(ctx context.Context, e *diagnose.Evidence) error {
	knee, r := e.Knee(), e.Rest
	if knee.Rate <= 0 {
		return nil
	}
	o.say("rest  memory is left: a second load")
	window := time.Duration(r.Answers / knee.Rate * float64(time.Second))
	l, err := o.repeat(ctx, e, command.Shape{Connections: knee.Connections, Window: min(max(window, o.Window), mostAgain)})
	if err != nil {
		return err
	}
	answers, _, err := o.trickle(ctx, e)
	if err != nil {
		return err
	}
	still, err := o.settled(ctx, e)
	if err != nil {
		return err
	}
	a := &diagnose.Again{Answers: answers + l.Rate*(l.Seconds+o.Warmup.Seconds()), Left: map[string]float64{}}
	for name, v := range lasts(still) {
		a.Left[name] = v - r.Later[name]
	}
	r.Again = a
	return nil
}

// repeat makes a load at which only the watch looks.
func (o *Options) repeat(ctx context.Context, e *diagnose.Evidence, s command.Shape) (*diagnose.Load, error) {
	short := *o
	short.Probes, short.Window = nil, s.Window
	for _, p := range o.Probes {
		if w, ok := p.(*Watch); ok {
			short.Probes = append(short.Probes, w)
		}
	}
	return short.load(ctx, e, "again", s)
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
