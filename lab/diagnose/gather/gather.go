package gather

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/stats"
)

// Options define what is gathered.
type Options struct {
	Runs   *command.Runs
	Server diagnose.Server
	Probes []Probe
	Most   int           // connections of the sweep
	Step   time.Duration // window of a run of the sweep
	Window time.Duration // of a load
	Warmup time.Duration
	Seed   uint64
	Say    func(text string) // progress, a line each
}

// A Probe looks at the server while it is loaded.
type Probe interface {
	// Name names the probe in messages.
	Name() string
	// Window looks for the given time and adds what it saw to fields of the load that no other
	// probe uses. It may be called again. Its error says what could not be seen and why.
	Window(ctx context.Context, d time.Duration, l *diagnose.Load) error
}

// A concluder is a probe that needs what others saw.
type concluder interface {
	// Conclude completes a load that all probes have looked at.
	Conclude(l *diagnose.Load) error
}

// ErrNoAnswer is the error of a server that answered nothing right under load.
var ErrNoAnswer = errors.New("the server answered no request right: see `redline load` for what it answers")

// Gather loads the server and returns what was seen. If ctx ends, or a later step fails, it
// returns the evidence so far, and the error.
func Gather(ctx context.Context, o Options) (*diagnose.Evidence, error) {
	e := &diagnose.Evidence{Server: o.Server}
	before, err := o.rest(ctx, e)
	if err != nil {
		return e, err
	}
	complete(&e.Server, before)
	if err := o.sweep(ctx, e); err != nil {
		return e, err
	}
	for _, l := range loads(e.Sweep) {
		load, err := o.load(ctx, e, l.name, l.shape)
		if err != nil {
			return e, fmt.Errorf("load %s: %w", l.name, err)
		}
		e.Loads = append(e.Loads, *load)
	}
	return e, o.after(ctx, e, before)
}

// named is a load with its name.
type named struct {
	name  string
	shape command.Shape
}

// loads returns the loads that follow from a sweep. A server that answered nothing right has no
// rate to take a part of, but why it does so shows at the knee.
func loads(sweep []diagnose.Point) []named {
	ceiling, knee := turn(sweep)
	list := []named{{diagnose.Knee, command.Shape{Connections: knee}}}
	if ceiling == 0 {
		return list
	}
	part := func(share float64) command.Shape {
		return command.Shape{Connections: open(knee), Rate: ceiling * share}
	}
	return append([]named{{diagnose.Low, part(0.1)}, {diagnose.Half, part(0.5)}}, list...)
}

// The sweep ends when so many doublings in a row brought less than this.
const (
	flatSteps = 2
	flatGain  = 1.05
)

// sweep runs closed loops of 1, 2, 4 ... connections, until more bring no more, and fits the law.
func (o *Options) sweep(ctx context.Context, e *diagnose.Evidence) error {
	best, flat := 0.0, 0
	for n := 1; n <= o.Most && (flat < flatSteps || n <= leastKnee); n *= 2 {
		doc, err := o.Runs.Run(ctx, command.Shape{Connections: n, Warmup: o.Warmup, Window: o.Step})
		if err != nil {
			return fmt.Errorf("sweep, %d connections: %w", n, err)
		}
		p := point(doc, n)
		e.Sweep = append(e.Sweep, p)
		o.say("%4d connections  %9.0f/s  p50 %s  p99 %s  %.2f cores", n, p.Rate, seconds(p.P50), seconds(p.P99), p.CPU)
		if flat++; p.Rate > best*flatGain {
			flat = 0
		}
		best = max(best, p.Rate)
	}
	var n, x []float64
	for _, p := range e.Sweep {
		if p.Rate > 0 {
			n, x = append(n, float64(p.Connections)), append(x, p.Rate)
		}
	}
	// Without a law, because there are few points, the rules that need it find nothing.
	if law, err := stats.FitUSL(n, x, o.Seed); err == nil {
		e.Law = &law
	}
	return nil
}

// leastKnee is the least concurrency of the knee: real services have at least so many clients,
// and queues show only behind a few requests.
const leastKnee = 16

// turn returns the highest rate of a sweep, and twice the concurrency at which 90 % of it is
// reached: beyond the knee, where requests wait for what is scarce.
func turn(sweep []diagnose.Point) (ceiling float64, knee int) {
	for _, p := range sweep {
		ceiling = max(ceiling, p.Rate)
	}
	for _, p := range sweep {
		if p.Rate >= diagnose.KneeShare*ceiling {
			return ceiling, max(2*p.Connections, leastKnee)
		}
	}
	return ceiling, leastKnee
}

// open returns the connections of an open loop: enough that requests do not wait for one.
func open(knee int) int { return max(2*knee, 64) }

// load runs one load with all probes.
func (o *Options) load(ctx context.Context, e *diagnose.Evidence, name string, shape command.Shape) (*diagnose.Load, error) {
	o.say("%-5s %s", name, describe(shape))
	l := &diagnose.Load{Name: name, Connections: shape.Connections, Target: shape.Rate}
	began := make(chan struct{})
	shape.Warmup, shape.Window = o.Warmup, o.Window
	shape.OnWindow = func() { close(began) }
	looking, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan []error, 1)
	go func() {
		select {
		case <-began:
			done <- o.look(looking, l)
		case <-looking.Done():
			done <- nil
		}
	}()
	doc, err := o.Runs.Run(ctx, shape)
	select {
	case <-began:
		if err != nil {
			stop()
		}
	default:
		stop() // there was no window to look at
	}
	missed := <-done
	if err != nil {
		return nil, err
	}
	for _, m := range missed {
		e.Miss(m)
	}
	for _, p := range o.Probes {
		if c, ok := p.(concluder); ok {
			if err := c.Conclude(l); err != nil {
				e.Miss(fmt.Errorf("%s: %w", p.Name(), err))
			}
		}
	}
	fill(l, doc)
	l.Looked = (o.Window - spare).Seconds()
	return l, nil
}

// spare is the end of the window in which no probe looks, so that the load lasts longer than
// they do.
const spare = 150 * time.Millisecond

// look has all probes look at once, each at fields of its own, and returns what they could not
// see.
func (o *Options) look(ctx context.Context, l *diagnose.Load) (failed []error) {
	errs := make(chan error, len(o.Probes))
	for _, p := range o.Probes {
		go func() {
			err := p.Window(ctx, o.Window-spare, l)
			if err != nil {
				err = fmt.Errorf("%s: %w", p.Name(), err)
			}
			errs <- err
		}()
	}
	for range o.Probes {
		if err := <-errs; err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

func (o *Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(fmt.Sprintf(format, args...))
	}
}

func describe(s command.Shape) string {
	if s.Rate > 0 {
		return fmt.Sprintf("%.0f requests/s, Poisson arrivals", s.Rate)
	}
	return fmt.Sprintf("closed loop of %d connections", s.Connections)
}

func seconds(v float64) string {
	if v == 0 {
		return "-"
	}
	return time.Duration(v * 1e9).Round(time.Microsecond).String()
}

// point summarizes a run of the sweep.
func point(doc *present.Document, n int) diagnose.Point {
	p := diagnose.Point{Connections: n, Rate: doc.RequestsPerSecond, Errors: doc.ErrorRatio, P50: quantile(doc.Latency.P50), P99: quantile(doc.Latency.P99)}
	p.Valid, p.Why = doc.BelievedDisturbed()
	if doc.Server != nil && doc.Seconds > 0 {
		p.CPU = (doc.Server.CPU.UserSeconds + doc.Server.CPU.SysSeconds) / doc.Seconds
	}
	return p
}
