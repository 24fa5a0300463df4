package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/bpf"
	"github.com/redline-go/redline/lab/watch/kernel"
)

// Open opens all samplers of a process, for verbs that watch a server while they do something
// else. It uses the PID, or finds the process by Control or PProf. The caller closes the
// samplers.
func Open(ctx context.Context, o Options) ([]watch.Sampler, error) {
	f, err := find(ctx, &o, nil)
	if err != nil {
		return nil, err
	}
	list, err := f.open(&o)
	if err != nil {
		for _, s := range list {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	return list, nil
}

// open opens the samplers: those of the runtime, of the kernel, and the further ones of the
// options. With an error it returns those that are open.
func (f *found) open(o *Options) (list []watch.Sampler, err error) {
	if len(f.runtime) == 0 {
		f.runtime = append(f.runtime, newMemory(f.pid))
	}
	list = append(list, f.runtime...)
	target, err := kernel.Open(procfs.Host, f.pid, o.Tree)
	if errors.Is(err, watch.ErrGone) {
		return list, fmt.Errorf("there is no process %d to watch", f.pid)
	}
	if err != nil {
		return list, fmt.Errorf("watch process %d: %w", f.pid, err)
	}
	more, err := target.Samplers()
	list = append(list, more...)
	if err != nil {
		return list, fmt.Errorf("watch process %d: %w", f.pid, err)
	}
	if !o.NoBPF {
		list = append(list, openBPF(bpf.Options{PID: f.pid, Tree: o.Tree, Exact: o.Exact}))
	}
	for _, open := range o.Samplers {
		s, err := open(f.pid)
		if err != nil {
			return list, err
		}
		list = append(list, s)
	}
	return list, nil
}

// openBPF returns the sampler of eBPF, or one that says why there is none.
func openBPF(o bpf.Options) watch.Sampler {
	s, err := bpf.Open(o)
	if err != nil {
		return bpf.Unavailable(err)
	}
	return s
}
