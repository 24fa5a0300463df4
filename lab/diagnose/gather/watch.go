package gather

import (
	"context"
	"errors"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/watch"
)

// every is the time between two samples of the watch.
const every = 200 * time.Millisecond

// Watch is the probe of the samplers of a watch.
type Watch struct{ samplers []watch.Sampler }

// NewWatch returns a probe that takes the samplers over: Close closes them.
func NewWatch(samplers []watch.Sampler) *Watch { return &Watch{samplers} }

// Name returns the name of the probe.
func (*Watch) Name() string { return "watch" }

// Window watches for d.
func (w *Watch) Window(ctx context.Context, d time.Duration, l *diagnose.Load) error {
	r, err := watch.New(watch.Options{Every: every, For: d, Samplers: w.samplers, Marks: watch.Marks(), Cost: cputime.OfThread}, func(e watch.Event) error {
		if e.Sample != nil {
			l.Samples = append(l.Samples, *e.Sample)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.Watch, err = r.Run(ctx)
	if err == nil && l.Watch.End == watch.EndGone {
		err = watch.ErrGone
	}
	return err
}

// Close closes the samplers.
func (w *Watch) Close() error {
	var err error
	for _, s := range w.samplers {
		err = errors.Join(err, s.Close())
	}
	return err
}
