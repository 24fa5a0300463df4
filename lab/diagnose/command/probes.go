package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/diagnose/gather"
	"github.com/redline-go/redline/lab/profile/stacks"
	watch "github.com/redline-go/redline/lab/watch/command"
)

// probes are the probes of one server.
type probes struct {
	list    []gather.Probe
	missing []error
	closers []func() error
}

// probes opens all probes that the server allows. One that cannot be opened is missing.
func (o *Options) probes(ctx context.Context, s *diagnose.Server) (*probes, error) {
	p := &probes{}
	if len(s.PIDs) == 0 {
		p.missing = append(p.missing, errors.New("the server's processes are unknown, so only its answers are seen: name it with --pid if it is on this machine"))
		return p, nil
	}
	samplers, err := watch.Open(ctx, watch.Options{PID: s.PIDs[0], Tree: len(s.PIDs) > 1, Control: o.Control, PProf: o.PProf, Exact: true})
	if err != nil {
		return p, err
	}
	w := gather.NewWatch(samplers)
	p.list = append(p.list, w)
	p.closers = append(p.closers, w.Close)
	if k, ok := gather.NewKernel(samplers); ok {
		p.list = append(p.list, k)
	}
	p.list = append(p.list, gather.NewStacks(stacks.CPU, s), gather.NewStacks(stacks.OffCPU, s), gather.NewSharing(s))
	if s.Language == gather.Go {
		p.openRuntime(s)
		if err := gather.Layout(s); err != nil {
			p.missing = append(p.missing, err)
		}
	}
	return p, nil
}

func (p *probes) close() (err error) {
	for _, f := range p.closers {
		err = errors.Join(err, f())
	}
	return err
}

// openRuntime opens the probes that read the runtime of a Go program from its memory.
func (p *probes) openRuntime(s *diagnose.Server) {
	type probe interface {
		gather.Probe
		io.Closer
	}
	for _, open := range []func() (probe, error){
		func() (probe, error) { return gather.NewGoroutines(s) },
		func() (probe, error) { return gather.NewAllocations(s) },
	} {
		one, err := open()
		if err != nil {
			p.missing = append(p.missing, fmt.Errorf("the runtime's memory: %w", err))
			return
		}
		p.list = append(p.list, one)
		p.closers = append(p.closers, one.Close)
	}
}
