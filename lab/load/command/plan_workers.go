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
	ownFiles    = 64 // descriptors that a process needs beside its connections, or its workers
	workerFiles = 4  // that one of them takes where it is led
	mostWorkers = 64 // that are started without being asked for
)

// cores is how many CPUs the workers get when nothing else is said: one each, as
// long as one is left for the server.
func (p *plan) cores(allowed int) int { return max(1, min(p.workers, allowed-1)) }

// planWorkers takes as many workers as the connections take, when nobody said how many. So
// many that nobody can have meant it are left to checkFleet.
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
	p.notes = append(p.notes, fmt.Sprintf("%d connections take %d workers, as a process may open %d files here (ulimit -Hn): the run is that of --workers %d",
		p.flags.connections, n, limit, n))
	return nil
}

// checkFleet refuses numbers of workers that cannot be meant.
func (p *plan) checkFleet() error {
	switch {
	case p.workers < 1:
		return fmt.Errorf("--workers %d: want at least 1", p.workers)
	case p.flags.connections < p.workers:
		return fmt.Errorf("--workers %d: there are %d connections; want at least one for each, as --connections %d", p.workers, p.flags.connections, p.workers)
	}
	if p.flags.users.try && (p.workers > 1 || p.flags.fleet.bus != "" || p.flags.kube.kubernetes) {
		return errors.New("--try asks once, from here: leave out --workers, --bus and --kubernetes, or --try")
	}
	if p.flags.fleet.bus != "" || p.flags.kube.kubernetes {
		return nil // what a worker may open is known where it is
	}
	limit, err := fileLimit()
	if err != nil {
		return err
	}
	each := (p.flags.connections + p.workers - 1) / p.workers
	if room := max(1, limit-ownFiles); each > room {
		return fmt.Errorf("--connections %d: a process may open %d files here, which is %d too few for each of %d; write --workers %d",
			p.flags.connections, limit, each-room, p.workers, workersFor(p.flags.connections, limit))
	}
	return nil
}

// workersFor is how many processes it takes to hold so many connections.
func workersFor(connections, limit int) int {
	room := max(1, limit-ownFiles)
	return (connections + room - 1) / room
}

// fileLimit is how many files a process may open: a Go program raises what it may
// to what it can.
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

// checkBus refuses what workers on other machines cannot do, and what flags about
// them say without any.
func (p *plan) checkBus(changed func(string) bool) error {
	if p.flags.fleet.bus == "" {
		if changed("wait") && !p.flags.kube.kubernetes {
			return errors.New("--wait is for workers that come over a --bus; those of this machine are started")
		}
		if changed("bus-credentials") && !p.flags.kube.kubernetes {
			return errors.New("--bus-credentials is for a NATS server: name it with --bus, or leave it out")
		}
		return nil
	}
	switch {
	case changed("cpu"):
		return errors.New("--cpu is for generators of this machine; pin a worker where it starts, as taskset -c 1 redline worker")
	case p.flags.find != "":
		return errors.New("--find starts many runs, and a worker on a --bus is there for one: leave out one of the two")
	case p.flags.fleet.wait <= 0:
		return fmt.Errorf("--wait %v: want more than 0, as 2m", p.flags.fleet.wait)
	}
	p.cpus = []int{}
	return checkBusAddress(p.flags.fleet.bus)
}

// checkBusAddress refuses what is neither the URL of a NATS server nor an address to listen
// at, and says what to write.
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

// checkBusURL does not repeat what it refuses, for there may be a password in it.
func checkBusURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
		return errors.New("--bus: want the URL of a NATS server, as nats://10.0.0.1:4222, or tls://, or listen:0.0.0.0:4222 for one of its own; see redline load --help")
	}
	return nil
}
