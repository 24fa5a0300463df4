package command

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/report/screen"
)

// BindOnly adds the flags of some of the [Groups], named by their titles, and those that are
// named themselves. All others have their defaults. It is for verbs that decide on the rest.
func (l *Flags) BindOnly(f *pflag.FlagSet, titles []string, names ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	l.Bind(all)
	for _, g := range Groups {
		if slices.Contains(titles, g.Title) {
			names = append(names, strings.Fields(g.Flags)...)
		}
	}
	all.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			f.AddFlag(flag)
			l.bound = append(l.bound, flag.Name)
		}
	})
}

// Runs are runs of one kind of request against one server, for verbs that vary the load. They
// are not safe for concurrent use.
type Runs struct{ s *session }

// A Shape is the load of one run.
type Shape struct {
	Connections   int
	PerConnection int     // answers after which a connection is replaced by a new one; 0: as the flag says
	Rate          float64 // of an open loop with Poisson arrivals, in requests a second; 0: a closed loop
	Warmup        time.Duration
	Window        time.Duration
	OnWindow      func() // called when the window begins; it must return at once
}

// Open sends the request once, finds the server and prepares the runs. Its errors are those of
// [Flags.Run]. changed reports whether a flag was given; it is asked only about those that
// [Flags.BindOnly] added. The caller closes the runs.
func (l *Flags) Open(ctx context.Context, rawURL string, changed func(string) bool) (*Runs, error) {
	quiet := *l
	quiet.quiet = true
	plan, err := quiet.resolve(rawURL, func(flag string) bool { return slices.Contains(l.bound, flag) && changed(flag) })
	if err != nil {
		return nil, err
	}
	s := &session{plan: plan, machine: machine.Fingerprint("."), screen: screen.Screen{}}
	if err := s.open(ctx, io.Discard); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &Runs{s}, nil
}

// PIDs returns the processes of the server; none if they are unknown.
func (r *Runs) PIDs() []int { return r.s.server.processes.PIDs }

// URL returns the address of the request.
func (r *Runs) URL() string { return r.s.plan.request.url.String() }

// CPUs returns how many CPUs the server may use beside the generator; 0 if that is unknown.
func (r *Runs) CPUs() int { return r.s.server.processes.CPUs }

// Run makes one run. A run that was cut short has both a document and an error.
func (r *Runs) Run(ctx context.Context, shape Shape) (*present.Document, error) {
	plan := *r.s.plan
	plan.flags.connections, plan.flags.warmup = shape.Connections, shape.Warmup
	plan.duration, plan.tick = shape.Window, tickOf(shape.Window)
	if shape.PerConnection > 0 {
		plan.flags.users.perConnection = shape.PerConnection
	}
	words := ""
	if plan.arrivals = nil; shape.Rate > 0 {
		plan.arrivals = &arrive.Plan{Rate: shape.Rate, Poisson: true, Seed: plan.seed}
		words = perSecond(shape.Rate) + ", " + spread(true)
	}
	s := *r.s
	s.plan, s.onWindow = &plan, shape.OnWindow
	return s.once(ctx, plan.arrivals, words, nil)
}

// Close releases all resources.
func (r *Runs) Close() error { return r.s.close() }

// Planned makes one run with the load that the flags describe, in a window of another length.
// warmup replaces that of the flags unless it is 0. onWindow is called when the window begins; it
// must return at once.
func (r *Runs) Planned(ctx context.Context, warmup, window time.Duration, onWindow func()) (*present.Document, error) {
	plan := *r.s.plan
	plan.duration, plan.tick = window, tickOf(window)
	if warmup > 0 {
		plan.flags.warmup = warmup
	}
	s := *r.s
	s.plan, s.onWindow = &plan, onWindow
	return s.once(ctx, plan.arrivals, plan.arrivalsText, nil)
}
