package bpf

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/bpf/program"
)

// programs are the loaded programs.
type programs struct {
	collection *ebpf.Collection
	closers    []io.Closer
	table      *table
	began      time.Time
	absent     []absent
	windows    uint32      // so far
	links      []link.Link // of the programs that cost much, while they are attached
	kernelCPU
}

// open loads the programs, and attaches them. Nothing is pinned: they are gone with this
// process.
func open(pid int, tree bool) (source, error) {
	if err := namespace(); err != nil {
		return nil, err
	}
	if stat, err := procfs.Host.Stat(pid); procfs.Gone(err) || err == nil && stat.Dead() {
		return nil, fmt.Errorf("count events of process %d: %w", pid, watch.ErrGone)
	}
	p := &programs{}
	if err := p.load(pid, tree); err != nil {
		return nil, explain(err)
	}
	if err := p.start(pid, tree); err != nil {
		return nil, explain(errors.Join(err, p.Close()))
	}
	return p, nil
}

// load gives the kernel the programs that it has the tracepoints for.
func (p *programs) load(pid int, tree bool) (err error) {
	if p.table, err = newTable(runtime.GOARCH); err != nil {
		return err
	}
	spec, err := program.Spec()
	if err != nil {
		return err
	}
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return fmt.Errorf("read the types of the kernel: %w", err)
	}
	p.leaveOut(spec, kernel)
	var jiffy unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &jiffy); err != nil {
		return fmt.Errorf("read the length of a jiffy: %w", err)
	}
	for name, value := range map[string]any{
		"root": uint32(pid), "tree": tree, "slots": p.table.slots, "kinds": p.table.kinds, "returning": p.table.returning, "jiffy": uint64(jiffy.Nano()),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	// 64 KiB for each CPU: its stacks of 1.2 s. A power of two, as the kernel wants it.
	spec.Maps["stacks"].MaxEntries = 1 << bits.Len(uint(min(runtime.NumCPU(), 256)*64<<10-1))
	if err := rlimit.RemoveMemlock(); err != nil {
		return fmt.Errorf("lift the limit of locked memory: %w", err)
	}
	p.collection, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: kernel}})
	if err != nil {
		return fmt.Errorf("load the eBPF programs: %w", err)
	}
	p.closers = append(p.closers, closer(func() error { p.collection.Close(); return nil }))
	return nil
}

// optional are the programs that older kernels have no tracepoint for, and the figures that are
// missing then.
var optional = map[string][]string{
	"uring_complete": {"uring_completions"},
	"sock_send":      {"tcp_sends", "tcp_send_bytes", "tcp_windows_closed", "dns_queries", "peer_wait{peer}", "peer_wait_p99{peer}", "peer_requests{peer}", "requests"},
	"sock_receive":   {"tcp_receives", "tcp_receive_bytes", "peer_wait{peer}", "peer_wait_p99{peer}", "peer_requests{peer}", "requests"},
	"sock_ready":     {"tcp_unread_p50", "tcp_unread_p99"},
}

// leaveOut removes programs without a tracepoint.
func (p *programs) leaveOut(spec *ebpf.CollectionSpec, kernel *btf.Spec) {
	for name, figures := range optional {
		at := spec.Programs[name].AttachTo
		var def *btf.Typedef
		if kernel.TypeByName("btf_trace_"+at, &def) == nil {
			continue
		}
		delete(spec.Programs, name)
		p.absent = append(p.absent, absent{"this kernel has no tracepoint " + at + ": use Linux 6.5 or later", figures})
	}
}

type closer func() error

func (c closer) Close() error { return c() }

// start tells the programs what exists, and attaches them.
//
//  1. The ports that are listened on: by them, connections that were accepted before are told
//     from those that were opened.
//  2. The programs, so that no child is missed from now on.
//  3. The children and sockets that exist.
func (p *programs) start(pid int, tree bool) error {
	// Without the ports, connections of before count as opened by the process: the list may be
	// unreadable.
	if list, err := procfs.Host.TCPSockets(strconv.Itoa(pid)); err == nil {
		for _, s := range list {
			if s.Listening() {
				_ = p.collection.Maps["ports"].Put(s.Port, uint8(1)) // it is full: see above
			}
		}
	}
	for name, one := range p.collection.Programs {
		if one.Type() != ebpf.Tracing || name == "sock_list" || slices.Contains(costly, name) {
			continue
		}
		l, err := link.AttachTracing(link.TracingOptions{Program: one})
		if err != nil {
			return fmt.Errorf("attach %s: %w", name, err)
		}
		p.closers = append(p.closers, l)
	}
	if err := p.observe(true); err != nil {
		return err
	}
	p.began = time.Now()
	if tree {
		if err := p.family(pid); err != nil {
			return err
		}
	}
	if err := p.listSockets(); err != nil {
		p.absent = append(p.absent, absent{"list the sockets of before: " + err.Error(), nil})
	}
	if err := p.startClock(); err != nil {
		p.absent = append(p.absent, absent{err.Error(), []string{"kernel_cpu{part}"}})
	}
	return nil
}

// family names the descendants to the programs.
func (p *programs) family(pid int) error {
	pids, err := procfs.Host.Tree(pid)
	if err != nil {
		return fmt.Errorf("find the descendants of process %d: %w", pid, err)
	}
	for _, one := range pids {
		if err := p.collection.Maps["processes"].Put(uint32(one), uint8(1)); err != nil {
			return fmt.Errorf("watch process %d: %w", one, err)
		}
	}
	return nil
}

// listSockets has the programs find the sockets that the processes have.
func (p *programs) listSockets() error {
	iter, err := link.AttachIter(link.IterOptions{Program: p.collection.Programs["sock_list"]})
	if err != nil {
		return err
	}
	in, err := iter.Open()
	if err == nil {
		_, err = io.Copy(io.Discard, in)
		err = errors.Join(err, in.Close())
	}
	return errors.Join(err, iter.Close())
}

// Close detaches the programs, and frees everything.
func (p *programs) Close() error {
	errs := []error{p.detach()}
	for i := len(p.closers) - 1; i >= 0; i-- {
		if err := p.closers[i].Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	p.closers = nil
	if p.reading != nil {
		<-p.reading // no goroutine is left
		p.reading = nil
	}
	return errors.Join(errs...)
}

// missing implements source.
func (p *programs) missing() []absent { return p.absent }

// costly are the programs with several events for each request. They are attached in windows.
var costly = []string{"sys_enter", "sched_wakeup", "sched_wakeup_new", "sched_switch", "sock_send", "sock_receive", "sock_ready"}

// observe implements source.
func (p *programs) observe(on bool) error {
	window := p.collection.Variables["window"]
	if !on {
		return errors.Join(window.Set(uint32(0)), p.detach())
	}
	for _, name := range costly {
		one := p.collection.Programs[name]
		if one == nil {
			continue // this kernel has no such tracepoint
		}
		l, err := link.AttachTracing(link.TracingOptions{Program: one})
		if err != nil {
			return errors.Join(fmt.Errorf("attach %s: %w", name, err), p.detach())
		}
		p.links = append(p.links, l)
	}
	// They see nothing until now, so all begin at the same time.
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	p.windows++
	return errors.Join(p.collection.Variables["opened"].Set(uint64(now.Nano())), window.Set(p.windows))
}

// detach detaches the programs that cost much.
func (p *programs) detach() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.Close())
	}
	p.links = nil
	return errors.Join(errs...)
}
