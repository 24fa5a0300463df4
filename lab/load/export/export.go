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
	openPatience = 5 * time.Second  // for a receiver to take the first snapshot
	endPatience  = 10 * time.Second // for all of them to take what is left, and the result
)

// Options say where figures go.
type Options struct {
	Outputs  []Output
	Run      string // name of the run, a label; empty: none
	Tool     string // version of the command
	Optional bool   // a receiver that takes nothing is a note, and no error
}

// A receiver gets the snapshots of a run. Its methods are called one at a time.
type receiver interface {
	open(ctx context.Context, first *snapshot) error // reaches it, or says why not
	point(s *snapshot)                               // takes a snapshot, and never waits
	// end takes the last snapshot and waits until all have arrived. lost is how many did
	// not, and why the reason of the last of them; err says that the last snapshot is
	// among them. last is nil when a run has no result.
	end(ctx context.Context, last *snapshot) (lost int, why, err error)
	close() error
	String() string // for messages; without credentials
}

// Exporter passes the figures of the runs of one command on to its receivers. Its methods
// are called one at a time, and none but Open, End and Linger waits. A nil Exporter
// exports nothing.
type Exporter struct {
	options   Options
	receivers []receiver
	start     time.Time
	common    []label
	notes     []string

	doc    *present.Document
	plan   *arrive.Plan
	window time.Time // when it began; zero: it has not
	at     time.Time // of the last snapshot
	last   float64   // point's time in the window
	totals totals
}

// Open reaches the receivers, for a load of the URL that target is without its query.
// Without outputs it returns nil. Its errors name the output that is to be changed; with
// Options.Optional they are notes instead.
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

// labelsOf are the labels of all samples: few, and the same for runs that are to be
// compared.
func labelsOf(run string, target *url.URL) []label {
	plain := url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}
	list := []label{{"target", plain.String()}}
	if run != "" {
		list = append(list, label{"run", run})
	}
	return list
}

// snapshot is one without samples.
func (e *Exporter) snapshot(at time.Time) *snapshot {
	return &snapshot{at: at, start: e.start, common: e.common}
}

// Begin says that another run begins, of which d says what is asked for; plan is nil for a
// closed loop. Counters go on from the run before.
func (e *Exporter) Begin(d *present.Document, plan *arrive.Plan) {
	if e != nil {
		e.doc, e.plan, e.window, e.last = d, plan, time.Time{}, 0
	}
}

// Window says that the window begins.
func (e *Exporter) Window() {
	if e != nil {
		e.window = time.Now()
	}
}

// Point passes a point on.
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

// after is a time that is not used yet.
func (e *Exporter) after(at time.Time) time.Time {
	if least := e.at.Add(epsilon); at.Before(least) {
		at = least
	}
	e.at = at
	return at
}

// End passes the result on, nil when there is none, and waits until it has arrived, for
// ten seconds at most. What did not arrive is in the notes of d. That the result is
// missing somewhere is an error, or a note with Options.Optional or when ctx has ended.
func (e *Exporter) End(ctx context.Context, d *present.Document) (err error) {
	if e == nil {
		return nil
	}
	optional := e.options.Optional || ctx.Err() != nil // an interrupted run has an exit code of its own
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

// Linger waits until what is fetched has been fetched with the result, for so long at most.
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

// Close ends what Open began.
func (e *Exporter) Close() (err error) {
	if e == nil {
		return nil
	}
	for _, r := range e.receivers {
		err = errors.Join(err, r.close())
	}
	return err
}

// hostname is what this machine calls itself; "" when it does not know.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
