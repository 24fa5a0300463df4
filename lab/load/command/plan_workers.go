package command

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/probe"
)

const (
	ownFiles    = 64 // descriptors that a process needs besides its connections or workers
	workerFiles = 4  // descriptors that the coordinator needs for a worker
	mostWorkers = 64 // maximum number of workers that are started by default
)

// cores returns the default number of CPUs for the workers: one each, as long as one is left
// for the server.
func (p *plan) cores(allowed int) int { return max(1, min(p.workers, allowed-1)) }

// planWorkers sets the number of workers that the connections need, unless it is given.
// checkFleet rejects numbers above mostWorkers.
func (p *plan) planWorkers(given bool) error {
	if given || p.flags.users.try || p.flags.fleet.bus != "" || p.flags.kube.kubernetes {
		return nil
	}
	limit, err := fileLimit()
	if err != nil {
		return err
	}
	n := workersFor(p.flags.connections, limit)
	if n == 1 || n > min(mostWorkers, (limit-ownFiles)/workerFiles) {
		return nil
	}
	p.workers = n
	p.notes = append(p.notes, fmt.Sprintf("%d connections need %d workers, as a process may open %d files here (ulimit -Hn): the run uses --workers %d",
		p.flags.connections, n, limit, n))
	return nil
}

// checkFleet rejects impossible numbers of workers.
func (p *plan) checkFleet() error {
	switch {
	case p.workers < 1:
		return fmt.Errorf("--workers %d: want at least 1", p.workers)
	case p.flags.connections < p.workers:
		return fmt.Errorf("--workers %d and --connections %d: want at least one connection for each worker, as --connections %d", p.workers, p.flags.connections, p.workers)
	}
	if p.flags.users.try && (p.workers > 1 || p.flags.fleet.bus != "" || p.flags.kube.kubernetes) {
		return errors.New("--try sends each request once, from this process: leave out --workers, --bus and --kubernetes, or --try")
	}
	if p.flags.fleet.bus != "" || p.flags.kube.kubernetes {
		return nil // each worker checks its own limit
	}
	limit, err := fileLimit()
	if err != nil {
		return err
	}
	each := (p.flags.connections + p.workers - 1) / p.workers
	if room := max(1, limit-ownFiles); each > room {
		return fmt.Errorf("--connections %d: a process may open %d files here, %d too few for each of %d workers; write --workers %d",
			p.flags.connections, limit, each-room, p.workers, workersFor(p.flags.connections, limit))
	}
	return nil
}

// workersFor returns the number of processes that the connections need.
func workersFor(connections, limit int) int {
	room := max(1, limit-ownFiles)
	return (connections + room - 1) / room
}

// fileLimit returns the number of files that a process may open: the hard limit, because a Go
// program raises its soft limit.
func fileLimit() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return int(min(limit.Max, math.MaxInt32)), nil
}

// planCPUs chooses the generator's CPU.
func (p *plan) planCPUs() error {
	allowed, err := probe.Allowed()
	if err != nil {
		return err
	}
	if p.flags.cpu == "" {
		p.cpus = allowed[len(allowed)-p.cores(len(allowed)):]
		return nil
	}
	cpus, err := probe.ParseCPUs(p.flags.cpu)
	if err != nil {
		return fmt.Errorf("--cpu %s: %w", p.flags.cpu, err)
	}
	if len(cpus) > p.workers {
		return fmt.Errorf("--cpu %s: a generator is one thread; name one CPU, as --cpu %d, or as many as there are --workers", p.flags.cpu, cpus[0])
	}
	for _, c := range cpus {
		if !slices.Contains(allowed, c) {
			return fmt.Errorf("--cpu %s: it is not among those allowed, %s", p.flags.cpu, probe.FormatCPUs(allowed))
		}
	}
	p.cpus = cpus
	return nil
}

// checkBus rejects flags that workers on other machines do not support, and flags that
// require such workers.
func (p *plan) checkBus(changed func(string) bool) error {
	if p.flags.fleet.bus == "" {
		if changed("wait") && !p.flags.kube.kubernetes {
			return errors.New("--wait is for workers that join over a --bus; workers of this machine are started at once")
		}
		if changed("bus-credentials") && !p.flags.kube.kubernetes {
			return errors.New("--bus-credentials is for a NATS server: name it with --bus, or leave it out")
		}
		return nil
	}
	switch {
	case changed("cpu"):
		return errors.New("--cpu is for generators of this machine; pin a worker on its own machine, as taskset -c 1 redline worker")
	case p.flags.find != "":
		return errors.New("--find starts many runs, and a worker on a --bus serves one: leave out one of the two")
	case p.flags.fleet.wait <= 0:
		return fmt.Errorf("--wait %v: want more than 0, as 2m", p.flags.fleet.wait)
	}
	p.cpus = []int{}
	return checkBusAddress(p.flags.fleet.bus)
}

// checkBusAddress rejects anything that is neither the URL of a NATS server nor an address to
// listen at. The error says what to write.
func checkBusAddress(where string) error {
	addr, own := strings.CutPrefix(where, listenPrefix)
	if !own {
		return checkBusURL(where)
	}
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return fmt.Errorf("--bus %s: write the address to listen at, as listen:0.0.0.0:4222", where)
	}
	return nil
}

// checkBusURL rejects anything but the URL of a NATS server. The error does not repeat it,
// because it may contain a password.
func checkBusURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return errors.New("--bus: want the URL of a NATS server, as nats://10.0.0.1:4222, or tls://, or listen:0.0.0.0:4222 to start one; see redline load --help")
	}
	return nil
}
