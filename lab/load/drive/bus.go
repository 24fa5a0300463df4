package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/crew"
	"github.com/redline-go/redline/lab/load/fleet/kube"
	"github.com/redline-go/redline/lab/load/join"
)

// listenScheme begins the address of a NATS server that the coordinator is itself.
const listenScheme = "listen:"

// checkBus refuses what workers on other machines cannot do, and what flags about
// them say without any.
func (p *plan) checkBus(changed func(string) bool) error {
	if p.bus == "" {
		if changed("wait") && !p.kubernetes {
			return errors.New("--wait is for workers that come over a --bus; those of this machine are started")
		}
		return nil
	}
	switch {
	case changed("cpu"):
		return errors.New("--cpu is for generators of this machine; pin a worker where it starts, as taskset -c 1 redline worker")
	case changed("pid"):
		return errors.New("--pid is for a server whose CPU time generators of this machine read; leave it out of a run over a --bus")
	case p.Flags.find != "":
		return errors.New("--find starts many runs, and a worker on a --bus is there for one: leave out one of the two")
	case strings.HasPrefix(p.think, "file:"):
		return fmt.Errorf("--think %s: workers on a --bus do not have the file; write it into a scenario, whose files go with it", p.think)
	case p.wait <= 0:
		return fmt.Errorf("--wait %v: want more than 0, as 2m", p.wait)
	}
	p.cpus = []int{}
	if addr, ok := strings.CutPrefix(p.bus, listenScheme); ok {
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
			return fmt.Errorf("--bus %s: write the address to listen at, as listen:0.0.0.0:4222", p.bus)
		}
		return nil
	}
	return bus.CheckURL(p.bus)
}

// address is where the workers of a run meet: what the environment says of it, and
// what nobody can guess for the rest.
func (r *loader) address(url string) bus.Address {
	a := bus.New(url)
	a.Run, a.Token = cmp.Or(os.Getenv(kube.EnvRun), a.Run), cmp.Or(os.Getenv(kube.EnvToken), a.Token)
	a.Credentials = r.credentials
	return a
}

// hub connects the coordinator with the NATS server, which it starts if it is to
// be its own. end ends both.
func (r *loader) hub(ctx context.Context) (hub bus.Hub, end func() error, err error) {
	a, where := r.address(r.bus), r.bus
	stop := func() {}
	if addr, own := strings.CutPrefix(r.bus, listenScheme); own {
		broker, err := bus.Listen(addr, a.Token)
		if err != nil {
			return hub, nil, err
		}
		stop = broker.Close
		host, _, _ := net.SplitHostPort(addr) // was checked
		where = broker.URL(host)
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host, where = "127.0.0.1", broker.URL("THIS-MACHINE")
		}
		a.URL = broker.URL(host)
	}
	r.invite(a, where)
	if hub, err = bus.Coordinator(ctx, a); err != nil {
		stop()
		return hub, nil, err
	}
	return hub, func() error {
		defer stop()
		return hub.Close()
	}, nil
}

// invite says how a worker joins. A token that was given is not said.
func (r *loader) invite(a bus.Address, where string) {
	if r.kubernetes {
		return // they are started
	}
	if os.Getenv(kube.EnvToken) != "" && (r.quiet || os.Getenv(kube.EnvRun) != "") {
		return
	}
	env := kube.EnvRun + "=" + a.Run
	if os.Getenv(kube.EnvToken) == "" {
		env += " " + kube.EnvToken + "=" + a.Token
	}
	text := fmt.Sprintf("%d workers are waited for; start each as\n  %s redline %s --bus %s", r.workers, env, join.Verb, where)
	if r.live != nil {
		r.live.Say(text)
		return
	}
	fmt.Fprintln(os.Stderr, text)
}

// overBus makes the load with workers that join over NATS.
func (r *loader) overBus(ctx context.Context, spec *load.Spec, w *watch) (result *load.Result, err error) {
	remote := *spec
	remote.ServerPIDs = nil // they are none where the workers are
	if spec.Scenario != nil {
		scenario := *spec.Scenario
		if err := scenario.Carry(); err != nil {
			return nil, err
		}
		remote.Scenario = &scenario
	}
	orders, err := crew.Orders(&remote, r.workers)
	if err != nil {
		return nil, err
	}
	hub, end, err := r.hub(ctx)
	if err != nil {
		return nil, err
	}
	if r.kubernetes {
		remove, err := r.applyWorkers(ctx, hub.Address())
		if err != nil {
			return nil, errors.Join(err, end())
		}
		end = both(remove, end)
	}
	result, err = r.lead(ctx, hub, orders, &remote, w)
	return result, errors.Join(err, end())
}

// both calls one function after the other.
func both(first, then func() error) func() error {
	return func() error { return errors.Join(first(), then()) }
}
