package export

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/present"
)

const (
	openPatience = 5 * time.Second  // for a receiver to accept the first snapshot
	endPatience  = 10 * time.Second // for all receivers to accept the remaining points and the result
)

// Options configure the export.
type Options struct {
	Outputs  []Output
	Run      string // name of the run, a label; empty: none
	Tool     string // version of the command
	Optional bool   // a receiver that fails is a note, not an error
}

// A receiver accepts the snapshots of a run. Its methods are called one at a time.
type receiver interface {
	open(ctx context.Context, first *snapshot) error // connects to it
	point(s *snapshot)                               // accepts a snapshot; never blocks
	// end accepts the last snapshot and waits until all have arrived. lost is the number of
	// lost snapshots, and why the reason of the last loss; err is set if the last snapshot
	// is lost. last is nil if a run has no result.
	end(ctx context.Context, last *snapshot) (lost int, why, err error)
	close() error
	String() string // for messages; without credentials
}

// Exporter passes the figures of the runs of one command to its receivers. Its methods are called
// one at a time; only Open, End and Linger block. A nil Exporter exports nothing.
type Exporter struct {
	options   Options
	receivers []receiver
	start     time.Time
	common    []label
	notes     []string

	doc    *present.Document
	plan   *arrive.Plan
	window time.Time // start of the window; zero: it has not begun
	at     time.Time // of the last snapshot
	last   float64   // time of the last point in the window
	totals totals
}

// Open connects to the receivers. target is the URL of the load; its query is not exported.
// Without outputs Open returns nil. Its errors name the wrong output; with Options.Optional they
// are notes instead.
func Open(ctx context.Context, o Options, target *url.URL) (*Exporter, error) {
	if len(o.Outputs) == 0 {
		return nil, nil
	}
	e := &Exporter{options: o, start: time.Now(), common: labelsOf(o.Run, target)}
	e.totals = totals{errors: map[string]uint64{}, latency: counts{buckets: make([]uint64, len(bounds)+1)}}
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	first := e.snapshot(e.start)
	first.add(window, 0)
	for _, out := range o.Outputs {
		r, err := out.receiver(o.Tool)
		if err == nil {
			err = r.open(ctx, first)
		}
		switch {
		case err == nil:
			e.receivers = append(e.receivers, r)
		case o.Optional:
			e.notes = append(e.notes, fmt.Sprintf("nothing was exported to %s: %v", out, err))
		default:
			return nil, errors.Join(fmt.Errorf("--export %s: %w", out, err), e.Close())
		}
	}
	return e, nil
}

// labelsOf returns the labels of all samples: few, and equal for runs that are compared.
func labelsOf(run string, target *url.URL) []label {
	plain := url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}
	list := []label{{"target", plain.String()}}
	if run != "" {
		list = append(list, label{"run", run})
	}
	return list
}

// snapshot returns a snapshot without samples.
func (e *Exporter) snapshot(at time.Time) *snapshot {
	return &snapshot{at: at, start: e.start, common: e.common}
}

// Begin starts another run with the configuration of d; plan is nil for a closed loop. Counters
// continue from the previous run.
func (e *Exporter) Begin(d *present.Document, plan *arrive.Plan) {
	if e != nil {
		e.doc, e.plan, e.window, e.last = d, plan, time.Time{}, 0
	}
}

// Window is called when the window begins.
func (e *Exporter) Window() {
	if e != nil {
		e.window = time.Now()
	}
}

// Point exports a point.
func (e *Exporter) Point(p present.Point) {
	if e == nil {
		return
	}
	at := time.Now()
	if p.T > 0 {
		if e.totals.add(&p); !e.window.IsZero() {
			at = e.window.Add(time.Duration(p.T * float64(time.Second)))
		}
	}
	s := e.snapshot(e.after(at))
	addPoint(s, e.doc, &p, e.plan, e.last)
	e.totals.addTo(s, e.doc.Stream != nil)
	e.last = max(p.T, 0)
	for _, r := range e.receivers {
		r.point(s)
	}
}

// after returns a time that is later than all previous ones.
func (e *Exporter) after(at time.Time) time.Time {
	if least := e.at.Add(epsilon); at.Before(least) {
		at = least
	}
	e.at = at
	return at
}

// End exports the result d, nil if there is none, and waits until it has arrived, for at most ten
// seconds. Losses are reported in the notes of d. A lost result is an error, or a note with
// Options.Optional or if ctx has ended.
func (e *Exporter) End(ctx context.Context, d *present.Document) (err error) {
	if e == nil {
		return nil
	}
	optional := e.options.Optional || ctx.Err() != nil // an interrupted run has its own exit code
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	var last *snapshot
	if d != nil {
		last = e.snapshot(e.after(time.Now()))
		e.notes = append(e.notes, addResult(last, d)...)
		e.totals.addTo(last, d.Stream != nil)
	}
	type ended struct {
		lost     int
		why, err error
	}
	results := make([]ended, len(e.receivers))
	done := make(chan struct{})
	for i, r := range e.receivers {
		go func() {
			results[i].lost, results[i].why, results[i].err = r.end(ctx, last)
			done <- struct{}{}
		}()
	}
	for range e.receivers {
		<-done
	}
	for i, r := range e.receivers {
		if got := results[i]; got.lost > 0 {
			e.notes = append(e.notes, fmt.Sprintf("%d points were not exported to %s: %v", got.lost, r, got.why))
		}
		if unsent := results[i].err; unsent != nil {
			unsent = fmt.Errorf("export the result to %s: %w", r, unsent)
			if optional {
				e.notes = append(e.notes, unsent.Error())
			} else {
				err = errors.Join(err, unsent)
			}
		}
	}
	if d != nil {
		d.Notes = append(d.Notes, e.notes...)
	}
	return err
}

// Linger waits until the result has been scraped, for at most the given time.
func (e *Exporter) Linger(ctx context.Context, most time.Duration) {
	if e == nil || most <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for _, r := range e.receivers {
		if s, is := r.(*scraped); is {
			s.linger(ctx)
		}
	}
}

// Close releases the receivers.
func (e *Exporter) Close() (err error) {
	if e == nil {
		return nil
	}
	for _, r := range e.receivers {
		err = errors.Join(err, r.close())
	}
	return err
}

// hostname returns the name of this machine; "" if it is unknown.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
