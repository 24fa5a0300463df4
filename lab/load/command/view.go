package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/serverview"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/profile"
)

const (
	tickPatience = 50 * time.Millisecond  // for a reading of the runtime: events wait meanwhile
	edgePatience = 250 * time.Millisecond // at the beginning of the window
	lastPatience = 2 * time.Second        // at its end: nothing waits
	profileSpare = 500 * time.Millisecond // of the window, for the profiles of a moment
	profileWait  = 20 * time.Second       // for profiles when the load is over
	shortestView = 2 * time.Second        // window with profiles
)

// viewFlags is what is asked about the server's inside.
type viewFlags struct {
	control, pprof, profile, dir string
	time                         time.Duration

	base  string         // of --pprof
	kinds []profile.Kind // of --profile
}

func (v *viewFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&v.control, "control", "", "read the server's Go runtime from this `SOCKET` (docs/control.md)")
	f.StringVar(&v.pprof, "pprof", "", "read it from net/http/pprof at this `URL`, as http://127.0.0.1:6060/debug/pprof")
	f.StringVar(&v.profile, "profile", "", "take these `KINDS` of profiles within the window: cpu,heap,goroutine,mutex,allocs,block")
	f.DurationVar(&v.time, "profile-time", 10*time.Second, "that they cover, in whole seconds; no more than the window")
	f.StringVar(&v.dir, "profile-dir", "", "`DIRECTORY` for them (default: profiles beside the --json file, or redline-profiles-TIME)")
}

// checkView reads the flags about the server's inside.
func (p *plan) checkView(changed func(string) bool) (err error) {
	v := &p.inside
	if v.pprof != "" {
		if v.base, err = serverview.ParseBase(v.pprof); err != nil {
			return fmt.Errorf("--pprof: %w", err)
		}
	}
	if v.profile == "" {
		for _, flag := range []string{"profile-time", "profile-dir", "profile"} {
			if changed(flag) {
				return fmt.Errorf("--%s: say which profiles to take, as --profile cpu,heap", flag)
			}
		}
		return nil
	}
	if v.kinds, err = profile.Parse(v.profile); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	switch {
	case v.pprof == "" && v.control == "":
		return errors.New("--profile takes profiles from the server's --pprof URL or --control SOCKET: name one of them")
	case p.Flags.find != "":
		return errors.New("--profile and --find: find the rate first, then profile it with --rate")
	case v.time < time.Second:
		return fmt.Errorf("--profile-time %v: want at least 1s", v.time)
	case p.duration < shortestView:
		return fmt.Errorf("--profile takes a window of at least %v: write --duration %v", shortestView, shortestView)
	}
	v.time = min(v.time, p.duration-profileSpare).Truncate(time.Second)
	if v.dir == "" {
		if v.dir = "redline-profiles-" + time.Now().Format("20060102-150405"); p.json != "" && p.json != "-" {
			v.dir = filepath.Join(filepath.Dir(p.json), "profiles")
		}
	}
	if info, err := os.Stat(v.dir); err == nil && !info.IsDir() {
		return fmt.Errorf("--profile-dir %s: that is no directory; name one, which is made if it is not there", v.dir)
	}
	if _, err := os.Stat(filepath.Dir(v.dir)); err != nil {
		return fmt.Errorf("--profile-dir %s: make its parent first: %w", v.dir, err)
	}
	return nil
}

// view is the way into the server, open for as long as the command runs.
type view struct {
	source   serverview.Source // of the runtime; nil when nothing is asked
	profiles profile.Source    // nil when none are taken
	back     func() error      // moves this process back; nil when it did not move
	doubt    string            // why it did not move, if it should have
}

// openView asks once for all that will be asked for in the run, and moves this
// process out of the way.
func (r *loader) openView(ctx context.Context) error {
	v := &r.inside
	var offered []string
	if v.pprof != "" {
		source, err := serverview.OpenPProf(ctx, v.base)
		if err != nil {
			return fmt.Errorf("--pprof %s: %w", v.pprof, err)
		}
		url := profile.URL(v.base)
		r.view.source, r.view.profiles = source, url
		if err := url.Ready(ctx, v.kinds); err != nil {
			return fmt.Errorf("--profile: %w", err)
		}
	}
	if v.control != "" {
		source, first, err := serverview.OpenSocket(ctx, v.control)
		if err != nil {
			return fmt.Errorf("--control %s: %w", v.control, err)
		}
		// It costs the server less and tells more; profiles it may not offer.
		if r.view.source, offered = source, first.Profiles; v.pprof == "" {
			r.view.profiles = profile.Socket(v.control)
		}
	}
	for _, k := range v.kinds {
		if v.pprof == "" && !slices.Contains(offered, string(k)) {
			return fmt.Errorf("--control %s: it offers %s; name the service's --pprof URL to take the profile %s", v.control, offers(offered), k)
		}
	}
	r.stepAside()
	return nil
}

func offers(list []string) string {
	if len(list) == 0 {
		return "no profiles"
	}
	return "the profiles " + strings.Join(list, ", ")
}

// stepAside moves this process off the generator's CPU, and off the server's when
// there are others. Where it cannot, the run says so.
func (r *loader) stepAside() {
	allowed, err := probe.Allowed()
	if err == nil {
		free := without(allowed, r.cpus)
		if len(r.server.PIDs) > 0 {
			// A server that has ended since has no CPUs, which the run will show.
			if theirs, err := probe.AllowedTo(r.server.PIDs[0]); err == nil && len(without(free, theirs)) > 0 {
				free = without(free, theirs)
			}
		}
		if len(free) == 0 || len(free) == len(allowed) {
			return
		}
		r.view.back, err = probe.Move(free)
	}
	if err != nil {
		r.view.doubt = fmt.Sprintf("the command itself may have run on the generator's CPU: %v", err)
	}
}

func without(cpus, those []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { return slices.Contains(those, c) })
}

// closeView ends what openView began.
func (r *loader) closeView() (err error) {
	if r.view.back != nil {
		err = r.view.back()
	}
	if r.view.source != nil {
		err = errors.Join(err, r.view.source.Close())
	}
	return err
}

// look is the server's inside during one run.
type look struct {
	*loader
	ctx      context.Context
	cancel   context.CancelFunc
	doc      *present.Document
	follower *serverview.Follower // nil when nothing is asked
	record   serverview.Record
	last     float64 // tick of the window
	answered uint64  // by then
	closing  *serverview.Reading
	over     bool                 // the window is
	taken    chan []profile.Taken // nil when none are
}

// look begins to look; its user calls end.
func (r *loader) look(ctx context.Context, d *present.Document) *look {
	l := &look{loader: r, doc: d}
	l.ctx, l.cancel = context.WithCancel(ctx)
	if r.view.source != nil {
		// An interrupted run has figures, and so has its server: end ends this.
		l.follower = serverview.Follow(context.WithoutCancel(ctx), r.view.source)
	}
	if r.view.doubt != "" {
		d.Notes = append(d.Notes, r.view.doubt)
	}
	return l
}

// window is its beginning.
func (l *look) window() {
	if l.follower != nil {
		if reading := l.follower.Ask(serverview.Moment{}, true, edgePatience); reading != nil {
			l.record.Edge(reading)
		}
	}
	if len(l.inside.kinds) > 0 {
		l.taken = make(chan []profile.Taken, 1)
		v := &l.inside
		go func() {
			defer close(l.taken)
			l.taken <- profile.Take(l.ctx, l.view.profiles, v.kinds, v.time)
		}()
	}
}

// tick adds the runtime to a point.
func (l *look) tick(t *spec.Tick, p *present.Point) {
	if l.follower == nil || l.over { // of several workers, ticks come late
		return
	}
	if l.last = max(t.T, 0); t.T > 0 {
		l.answered += t.Requests
	}
	if reading := l.follower.Ask(serverview.Moment{T: t.T, Answered: l.answered}, false, tickPatience); reading != nil {
		l.record.Point(reading, p)
	}
}

// close is the end of the window. How many requests it answered is not known yet.
func (l *look) close() {
	if l.over = true; l.follower == nil {
		return
	}
	at := serverview.Moment{T: l.last, Answered: l.answered}
	if reading := l.follower.Ask(at, true, lastPatience); reading != nil {
		l.record.Edge(reading)
		if reading.Moment == at {
			l.closing = reading
		}
	}
}

// conclude puts what was seen into the document, and saves the profiles. What is
// missing is said there.
func (l *look) conclude(r *spec.Result) {
	if l.follower != nil {
		if l.closing != nil { // the sum of the ticks may lack some
			l.closing.T, l.closing.Answered = r.Seconds, max(r.Requests, l.answered)
		}
		n, why := l.follower.Misses()
		if l.doc.Runtime = l.record.Runtime(l.view.source.Name()); l.doc.Runtime != nil && n > 0 {
			l.doc.Runtime.Failed, l.doc.Runtime.Why = n, why.Error()
		}
		if n > 0 {
			l.doc.Notes = append(l.doc.Notes, fmt.Sprintf("the server's runtime could not be read %s: %v", times(n), why))
		} else if l.doc.Runtime == nil {
			l.doc.Notes = append(l.doc.Notes, "the server's runtime was not read often enough to say anything: the run is too short")
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

// save writes what was taken. What cannot be saved is missing like what could not
// be taken: the figures of the run are worth more than its profiles.
func (l *look) save(taken []profile.Taken) {
	var kinds []string
	for _, t := range taken {
		kinds = append(kinds, string(t.Kind))
		p := present.Profile{Kind: string(t.Kind)}
		err := t.Err
		if err == nil {
			p.File, err = t.Save(l.inside.dir)
		}
		switch {
		case errors.Is(err, context.Canceled):
			p.Missing = "the run was over before it was there"
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
		"profiles were taken within the window (%s): its figures are not to be compared with those of a run without", strings.Join(kinds, ", ")))
}

// end ends what is still under way.
func (l *look) end() {
	l.cancel()
	if l.follower != nil {
		l.follower.Close()
	}
	if l.taken != nil {
		for range l.taken {
		}
	}
}
