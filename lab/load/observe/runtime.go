package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/profile"
)

const (
	tickPatience = 50 * time.Millisecond  // limit on a reading of the runtime, during which events wait
	edgePatience = 250 * time.Millisecond // the same at the start of the window
	lastPatience = 2 * time.Second        // the same at its end, when nothing waits
	profileWait  = 20 * time.Second       // limit on the wait for profiles after the load
)

// RuntimeOptions define what is read from the server's Go runtime, and from where.
type RuntimeOptions struct {
	Control string         // socket; "": none
	PProf   string         // URL of net/http/pprof as given by the user, for errors
	Base    string         // the complete URL, see ParseBase; "": none
	Kinds   []profile.Kind // profiles to take within the window
	Time    time.Duration  // time that they cover, in whole seconds
	Dir     string         // directory of the profiles; created if necessary

	// Beside takes the profiles instead of the socket or URL, and Taken gets them instead of
	// the directory and the document. nil: no profiles of another command are taken.
	Beside profile.Source
	Taken  func([]profile.Taken)
}

// Runtime is the connection to the server's Go runtime, open as long as the command runs.
type Runtime struct {
	options  RuntimeOptions
	source   Source         // nil if the runtime is not read
	profiles profile.Source // nil if none are taken
}

// OpenRuntime connects to the server's runtime, and makes each query of the run once. Its
// errors name the flag to change. The caller must close the Runtime.
func OpenRuntime(ctx context.Context, o RuntimeOptions) (*Runtime, error) {
	r := &Runtime{options: o}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Runtime) open(ctx context.Context) error {
	o := &r.options
	if r.profiles = o.Beside; r.profiles != nil {
		return nil
	}
	var offered []string
	if o.Base != "" {
		source, err := OpenPProf(ctx, o.Base)
		if err != nil {
			return fmt.Errorf("--pprof %s: %w", o.PProf, err)
		}
		url := profile.URL(o.Base)
		r.source, r.profiles = source, url
		if err := url.Ready(ctx, o.Kinds); err != nil {
			return fmt.Errorf("--profile: %w", err)
		}
	}
	if o.Control != "" {
		source, first, err := OpenSocket(ctx, o.Control)
		if err != nil {
			return fmt.Errorf("--control %s: %w", o.Control, err)
		}
		// The socket costs the server less and provides more, but may not offer profiles.
		if r.source, offered = source, first.Profiles; o.Base == "" {
			r.profiles = profile.Socket(o.Control)
		}
	}
	for _, k := range o.Kinds {
		if o.Base == "" && !slices.Contains(offered, string(k)) {
			return fmt.Errorf("--control %s: it offers %s; name the service's --pprof URL to take the profile %s", o.Control, offers(offered), k)
		}
	}
	return nil
}

// Close closes the connection.
func (r *Runtime) Close() error {
	if r.source == nil {
		return nil
	}
	return r.source.Close()
}

func offers(list []string) string {
	if len(list) == 0 {
		return "no profiles"
	}
	return "the profiles " + strings.Join(list, ", ")
}

// runtimeLog records the readings of the server's runtime during one run.
type runtimeLog struct {
	runtime  *Runtime
	ctx      context.Context
	cancel   context.CancelFunc
	doc      *present.Document
	follower *Follower // nil if the runtime is not read
	record   Record
	last     float64 // time of the last tick of the window
	answered uint64  // requests answered by then
	closing  *Reading
	over     bool                 // the window has ended
	taken    chan []profile.Taken // nil if no profiles are taken
}

// begin begins the log of a run. The caller must call end.
func (r *Runtime) begin(ctx context.Context, d *present.Document) *runtimeLog {
	l := &runtimeLog{runtime: r, doc: d}
	l.ctx, l.cancel = context.WithCancel(ctx)
	if r.source != nil {
		// An interrupted run still has results, and needs readings for them: end stops this.
		l.follower = Follow(context.WithoutCancel(ctx), r.source)
	}
	return l
}

// window marks the start of the window.
func (l *runtimeLog) window() {
	if l.follower != nil {
		if reading := l.follower.Ask(Moment{}, true, edgePatience); reading != nil {
			l.record.Edge(reading)
		}
	}
	if o := &l.runtime.options; len(o.Kinds) > 0 {
		l.taken = make(chan []profile.Taken, 1)
		go func() {
			defer close(l.taken)
			l.taken <- profile.Take(l.ctx, l.runtime.profiles, o.Kinds, o.Time)
		}()
	}
}

// tick adds the runtime to a point.
func (l *runtimeLog) tick(t *spec.Tick, p *present.Point) {
	if l.follower == nil || l.over { // ticks of several workers may arrive late
		return
	}
	if l.last = max(t.T, 0); t.T > 0 {
		l.answered += t.Requests
	}
	if reading := l.follower.Ask(Moment{T: t.T, Answered: l.answered}, false, tickPatience); reading != nil {
		l.record.Point(reading, p)
	}
}

// close marks the end of the window. The number of its answered requests is not known yet.
func (l *runtimeLog) close() {
	if l.over = true; l.follower == nil {
		return
	}
	at := Moment{T: l.last, Answered: l.answered}
	if reading := l.follower.Ask(at, true, lastPatience); reading != nil {
		l.record.Edge(reading)
		if reading.Moment == at {
			l.closing = reading
		}
	}
}

// conclude adds the measurements to the document, with notes on what is missing, and saves
// the profiles.
func (l *runtimeLog) conclude(r *spec.Result) {
	if l.follower != nil {
		if l.closing != nil { // the sum of the ticks may be incomplete
			l.closing.T, l.closing.Answered = r.Seconds, max(r.Requests, l.answered)
		}
		n, why := l.follower.Misses()
		if l.doc.Runtime = l.record.Runtime(l.runtime.source.Name()); l.doc.Runtime != nil && n > 0 {
			l.doc.Runtime.Failed, l.doc.Runtime.Why = n, why.Error()
		}
		if n > 0 {
			l.doc.Notes = append(l.doc.Notes, fmt.Sprintf("the server's runtime could not be read %s: %v", times(n), why))
		} else if l.doc.Runtime == nil {
			l.doc.Notes = append(l.doc.Notes, "the server's runtime was not read often enough: the run is too short")
		}
	}
	if l.taken == nil {
		return
	}
	late := time.AfterFunc(profileWait, l.cancel)
	defer late.Stop()
	l.save(<-l.taken)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// save writes the profiles. One that cannot be saved is reported as missing, like one that
// could not be taken: the run does not fail because of its profiles.
func (l *runtimeLog) save(taken []profile.Taken) {
	if given := l.runtime.options.Taken; given != nil {
		given(taken)
		return
	}
	var kinds []string
	for _, t := range taken {
		kinds = append(kinds, string(t.Kind))
		p := present.Profile{Kind: string(t.Kind)}
		err := t.Err
		if err == nil {
			p.File, err = t.Save(l.runtime.options.Dir)
		}
		switch {
		case errors.Is(err, context.Canceled):
			p.Missing = "the run ended before the profile was complete"
		case err != nil:
			p.Missing = err.Error()
		default:
			p.Seconds = t.Seconds
			for _, f := range t.Top {
				p.Top = append(p.Top, present.Function(f))
			}
		}
		l.doc.Profiles = append(l.doc.Profiles, p)
	}
	l.doc.Notes = append(l.doc.Notes, fmt.Sprintf(
		"profiles were taken within the window (%s): do not compare its figures with those of a run without profiles", strings.Join(kinds, ", ")))
}

// end stops all pending queries and profiles.
func (l *runtimeLog) end() {
	l.cancel()
	if l.follower != nil {
		l.follower.Close()
	}
	if l.taken != nil {
		for range l.taken {
		}
	}
}
