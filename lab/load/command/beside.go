package command

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/report/screen"
)

// besideGroups are the groups of flags that a load has beside the profile of another command.
var besideGroups = []string{"Load", "Request", "Users", "Connections", "TLS and HTTP/2"}

// besideNot are the flags of these groups that such a load does not have: the other command
// determines its length, and makes one run.
var besideNot = []string{"duration", "requests", "find", "threshold", "try", "check"}

// Beside is a load that runs while another command takes profiles. Its zero value is not usable:
// see [NewBeside].
type Beside struct {
	flags Flags
	set   *pflag.FlagSet
	names []string
}

// NewBeside adds the flags of a load to those of another command, which keeps its own where
// both have one of the same name. Names lists them, for the help text.
func NewBeside(f *pflag.FlagSet) *Beside {
	b := &Beside{set: pflag.NewFlagSet("load", pflag.ContinueOnError)}
	b.flags.Bind(b.set)
	for _, g := range Groups {
		if !slices.Contains(besideGroups, g.Title) {
			continue
		}
		for _, name := range strings.Fields(g.Flags) {
			if one := b.set.Lookup(name); one != nil && f.Lookup(name) == nil && !slices.Contains(besideNot, name) {
				f.AddFlag(one)
				b.names = append(b.names, name)
			}
		}
	}
	return b
}

// Names returns the names of the flags that were added.
func (b *Beside) Names() []string { return slices.Clone(b.names) }

// Given returns the name of a flag of the load that was written, or "" if there is none.
func (b *Beside) Given() string {
	for _, name := range b.names {
		if b.set.Lookup(name).Changed {
			return name
		}
	}
	return ""
}

// Order is what [Beside.Run] needs in addition to the flags.
type Order struct {
	URL    string
	PIDs   []int          // of the server; none: those that listen on the port
	Source profile.Source // of the profiles
	Kinds  []profile.Kind
	Time   time.Duration // that the profiles cover, in whole seconds
	Warmup time.Duration // instead of the default, unless --warmup was written; 0: the default
	Err    io.Writer
	Screen screen.Screen // of Err
}

// Run runs the load with a window that covers the profiles, which begin with the window. The
// document describes the load. It is a [cli.UsageError] if the flags are wrong.
func (b *Beside) Run(ctx context.Context, o Order) (doc *present.Document, taken []profile.Taken, err error) {
	flags := b.flags
	flags.duration, flags.quiet, flags.pids = max(o.Time+profileSpare, shortestProfile), true, o.PIDs
	if o.Warmup > 0 && !b.set.Changed("warmup") {
		flags.warmup = o.Warmup
	}
	changed := func(name string) bool { return name == "duration" || b.set.Changed(name) }
	plan, err := flags.resolve(o.URL, changed)
	if err != nil {
		return nil, nil, err
	}
	plan.runtime = observe.RuntimeOptions{
		Kinds: o.Kinds, Time: o.Time, Beside: o.Source,
		Taken: func(list []profile.Taken) { taken = list },
	}
	s := &session{plan: plan, machine: machine.Fingerprint("."), screen: o.Screen}
	defer func() { err = errors.Join(err, s.close()) }()
	again, stop := cli.Again(ctx)
	defer stop()
	s.again = again
	if err := s.open(ctx, o.Err); ctx.Err() != nil {
		return nil, nil, ctx.Err()
	} else if err != nil {
		return nil, nil, err
	}
	doc, err = s.measure(ctx)
	if err == nil && doc.Partial != "" {
		err = errors.New("the load was " + doc.Partial)
	}
	return doc, taken, err
}
