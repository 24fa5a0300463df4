package gather

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/probe"
)

// Sharing is the probe of who else uses the CPUs, and of how long the server's threads wait for
// one.
type Sharing struct {
	fs     procfs.FS
	server []int
	cpus   int // of server and generator
	used   map[int]usage
	ours   map[int]bool // processes of the server and of the command, in the window
}

// usage is what one process used in the window, in CPUs.
type usage struct {
	name string
	cpus float64
}

// NewSharing returns a probe of a server's processes.
func NewSharing(s *diagnose.Server) *Sharing {
	p := &Sharing{fs: procfs.Host, server: s.PIDs, cpus: s.CPUs + 1}
	if allowed, err := probe.AllowedTo(s.PIDs[0]); err == nil {
		p.cpus = max(p.cpus, len(allowed))
	}
	return p
}

// Name returns the name of the probe.
func (*Sharing) Name() string { return "who uses the CPUs" }

// Window reads the accounts of all processes now and after d.
func (p *Sharing) Window(ctx context.Context, d time.Duration, l *diagnose.Load) error {
	began := time.Now()
	before, waited, err := p.read()
	if err != nil {
		return err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, still, err := p.read()
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	p.used, p.ours = used(before, after, seconds), within(after, append([]int{os.Getpid()}, p.server...))
	l.Shared = &diagnose.Shared{CPUs: p.cpus, Delay: delayed(waited, still) / seconds}
	return nil
}

// read returns the accounts of all processes, and for how long each of the server's threads has
// been ready to run without a CPU.
func (p *Sharing) read() (map[int]procfs.Stat, map[int]time.Duration, error) {
	all, err := p.fs.Stats()
	if err != nil {
		return nil, nil, err
	}
	waited := map[int]time.Duration{}
	for _, pid := range p.server {
		threads, err := p.fs.Threads(pid)
		if err != nil && !procfs.Gone(err) {
			return nil, nil, err
		}
		for _, id := range threads {
			// Field 2, see sched-stats.rst of Linux. Kernels without it have no file.
			words, err := p.fs.Fields("proc", strconv.Itoa(pid), "task", strconv.Itoa(id), "schedstat")
			if procfs.Gone(err) || err == nil && len(words) < 2 {
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			ns, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("read the delay of thread %d: %w", id, err)
			}
			waited[id] = time.Duration(ns)
		}
	}
	return all, waited, nil
}

// clockTick is the resolution of the kernel's accounts: USER_HZ is 100 on every architecture that
// Go supports.
const clockTick = 0.01

// within returns processes and their descendants.
func within(all map[int]procfs.Stat, roots []int) map[int]bool {
	in := map[int]bool{}
	for _, pid := range roots {
		in[pid] = true
	}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if in[s.Parent] && !in[pid] {
				in[pid], grown = true, true
			}
		}
	}
	return in
}

// used returns what each process used between two readings. What has ended meanwhile is missing.
func used(before, after map[int]procfs.Stat, seconds float64) map[int]usage {
	out := map[int]usage{}
	for pid, now := range after {
		then, ok := before[pid]
		if !ok || then.Start != now.Start {
			then = procfs.Stat{}
		}
		ticks := now.Ticks - min(now.Ticks, then.Ticks)
		if ticks > 0 {
			out[pid] = usage{now.Comm, float64(ticks) * clockTick / seconds}
		}
	}
	return out
}

// delayed returns the seconds that threads waited between two readings.
func delayed(before, after map[int]time.Duration) float64 {
	var sum time.Duration
	for id, now := range after {
		sum += max(now-before[id], 0)
	}
	return sum.Seconds()
}

// mostNames is how many others are named.
const mostNames = 3

// leastNamed is the part of a CPU from which a process is named.
const leastNamed = 0.02

// Conclude names those who used most, when it is known to which servers this one connects.
func (p *Sharing) Conclude(l *diagnose.Load) error {
	if l.Shared == nil {
		return nil
	}
	backends := map[int]bool{}
	if l.Kernel != nil {
		for _, peer := range l.Kernel.Peers {
			pids, err := listeners(peer.Addr)
			if err != nil {
				return err
			}
			for _, pid := range pids {
				for _, one := range probe.Tree(pid) {
					backends[one] = true
				}
			}
		}
	}
	var others []usage
	for pid, u := range p.used {
		switch {
		case p.ours[pid]:
		case backends[pid]:
			l.Shared.Backends += u.cpus
		default:
			others = append(others, u)
		}
	}
	slices.SortFunc(others, func(a, b usage) int { return cmp.Or(cmp.Compare(b.cpus, a.cpus), cmp.Compare(a.name, b.name)) })
	for _, u := range others[:min(len(others), mostNames)] {
		if u.cpus >= leastNamed {
			l.Shared.Names = append(l.Shared.Names, fmt.Sprintf("%s %.2f", u.name, u.cpus))
		}
	}
	return nil
}

// listeners returns the processes of this machine that listen on an address.
func listeners(addr string) ([]int, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil // no address of TCP
	}
	number, err := strconv.Atoi(port)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, nil
	}
	return probe.Listening(number)
}
