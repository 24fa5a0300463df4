package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/child"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/watch"
)

// found is the process that is watched, and the samplers of its runtime.
type found struct {
	pid     int
	runtime []watch.Sampler
}

// find connects to the runtime, and finds the process by it if it is not given. ended is closed
// when the command ends that was started, and nil without one.
func find(ctx context.Context, o *Options, ended <-chan struct{}) (f found, err error) {
	f.pid = o.PID
	defer func() {
		if err != nil {
			for _, s := range f.runtime {
				err = errors.Join(err, s.Close())
			}
			f.runtime = nil
		}
	}()
	base := ""
	if o.PProf != "" {
		if base, err = observe.ParseBase(o.PProf); err != nil {
			return f, cli.Usage("--pprof %w", err)
		}
	}
	switch {
	case o.Control != "":
		// The socket costs the server less than pprof and provides more.
		socket, err := openSocket(ctx, o, ended)
		if err != nil {
			return f, fmt.Errorf("--control %s: %w", o.Control, err)
		}
		f.runtime = append(f.runtime, newRuntime(ctx, socket))
	case base != "":
		pages, err := openPages(ctx, ended, base)
		if err != nil {
			return f, fmt.Errorf("--pprof %s: %w", o.PProf, err)
		}
		f.runtime = append(f.runtime, newRuntime(ctx, pages))
	}
	if f.pid == 0 && o.Control != "" {
		if f.pid, err = probe.OwnerOfSocket(o.Control); err != nil {
			return f, fmt.Errorf("--control %s: %w", o.Control, err)
		}
	}
	if f.pid == 0 && base != "" {
		if f.pid, err = probe.OwnerOfURL(base); err != nil {
			return f, fmt.Errorf("--pprof %s: %w", o.PProf, err)
		}
	}
	return f, nil
}

// openSocket connects to a control socket. A process that was just started gets time to open
// it.
func openSocket(ctx context.Context, o *Options, ended <-chan struct{}) (source observe.Source, err error) {
	err = child.Patiently(ctx, ended, func() error {
		s, _, err := observe.OpenSocket(ctx, o.Control)
		source = s
		return err
	})
	return source, err
}

func openPages(ctx context.Context, ended <-chan struct{}, base string) (source observe.Source, err error) {
	err = child.Patiently(ctx, ended, func() error {
		p, err := observe.OpenPProf(ctx, base)
		source = p
		return err
	})
	return source, err
}
