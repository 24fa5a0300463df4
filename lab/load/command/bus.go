package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/internal/redact"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/kube"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
)

// listenPrefix begins the address of a NATS server that runs in the coordinator.
const listenPrefix = "listen:"

// WorkerVerb is the verb that runs a worker; with pipeFlag it communicates over its standard
// input and output.
const (
	WorkerVerb = "worker"
	pipeFlag   = "pipe"
)

// overBus generates the load with workers that join over NATS.
func (s *session) overBus(ctx context.Context, order *spec.Spec, observer *observe.Observer) (measured, error) {
	remote := *order
	remote.ServerPIDs = nil // not valid on the machines of the workers: the coordinator reads the CPU times
	if len(order.ServerPIDs) > 0 {
		stop, err := observer.ReadClocks(order.ServerPIDs, max(order.Tick/2, time.Millisecond))
		if err != nil {
			return measured{}, err
		}
		defer stop()
	}
	if order.Scenario != nil {
		scenario := *order.Scenario
		if err := scenario.Carry(); err != nil {
			return measured{}, err
		}
		remote.Scenario = &scenario
	}
	orders, err := fleet.Divide(&remote, s.plan.workers)
	if err != nil {
		return measured{}, err
	}
	coordinator, end, err := openBus(ctx, s.plan.flags.fleet.bus, s.plan.flags.fleet.wait, busIdentity(s.plan.flags.fleet.credentials), s.invite)
	if err != nil {
		return measured{}, err
	}
	if err := fits(orders, coordinator.Room()); err != nil {
		return measured{}, errors.Join(err, end())
	}
	if s.plan.flags.kube.kubernetes {
		remove, err := s.applyWorkers(ctx, coordinator.Address())
		if err != nil {
			return measured{}, errors.Join(err, end())
		}
		end = both(remove, end)
	}
	m, err := s.coordinate(ctx, coordinator, orders, &remote, observer)
	return m, errors.Join(err, end())
}

// fits rejects files that are too large for the bus, before workers join.
func fits(orders []fleet.Order, room int64) error {
	for _, o := range orders {
		if n := int64(len(o.Spec)); n > room {
			return cli.Usage("with its files, the order of a worker has %s, but the NATS server accepts %s: use smaller files, or --upload SIZE, which workers generate; or write --bus nats://HOST:4222 with a server of a larger max_payload",
				report.Bytes(float64(n), " "), report.Bytes(float64(room), " "))
		}
	}
	return nil
}

// invite prints how a worker joins, unless workers are started from here or by a script.
func (s *session) invite(how string, told bool) {
	text := fmt.Sprintf("waiting for %d workers; start each as\n  %s", s.plan.workers, how)
	switch {
	case s.plan.flags.kube.kubernetes || told && s.plan.flags.quiet:
	case s.live != nil:
		s.live.Say(text)
	default:
		fmt.Fprintln(os.Stderr, text)
	}
}

// both calls two functions in order.
func both(first, then func() error) func() error {
	return func() error { return errors.Join(first(), then()) }
}

// busIdentity returns the run's name and token from the environment, or random ones. The
// address has no URL yet.
func busIdentity(credentials string) bus.Address {
	a := bus.New("")
	a.Run, a.Token = cmp.Or(os.Getenv(kube.EnvRun), a.Run), cmp.Or(os.Getenv(kube.EnvToken), a.Token)
	a.Credentials = credentials
	return a
}

// openBus connects the coordinator to the NATS server at where, for up to wait, or starts the
// server if where says so. invite receives the command line with which a worker joins; told is
// true if run and token were given, so that a script can know them. end closes connection and
// server.
func openBus(ctx context.Context, where string, wait time.Duration, a bus.Address, invite func(how string, told bool)) (coordinator bus.CoordinatorConn, end func() error, err error) {
	a.URL = where
	stop := func() {}
	if addr, own := strings.CutPrefix(where, listenPrefix); own {
		broker, err := bus.Listen(addr, a.Token)
		if err != nil {
			return coordinator, nil, err
		}
		stop = broker.Close
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			stop()
			return coordinator, nil, err
		}
		where = broker.URL(host)
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host, where = "127.0.0.1", broker.URL("THIS-MACHINE")
		}
		a.URL = broker.URL(host)
	}
	patient, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no connection within %v, see --wait", wait))
	defer cancel()
	if coordinator, err = bus.Coordinator(patient, a); err != nil {
		stop()
		return coordinator, nil, err
	}
	invite(joinCommand(a, where))
	return coordinator, func() error {
		defer stop()
		return coordinator.Close()
	}, nil
}

// joinCommand returns the command with which a worker joins. It does not repeat a given token.
func joinCommand(a bus.Address, where string) (line string, told bool) {
	token := os.Getenv(kube.EnvToken) != ""
	line = kube.EnvRun + "=" + a.Run
	if !token {
		line += " " + kube.EnvToken + "=" + a.Token
	}
	return fmt.Sprintf("%s redline %s --bus %s", line, WorkerVerb, where), token && os.Getenv(kube.EnvRun) != ""
}

// Worker is the command line of a worker.
type Worker struct {
	bus, name, credentials string
	wait                   time.Duration
	pipe                   bool
}

// Bind adds the flags to f.
func (w *Worker) Bind(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&w.bus, "bus", "", "`URL` of the NATS server (default: REDLINE_NATS)")
	f.StringVar(&w.name, "name", "", "`NAME` of the machine in the result (default: its host name)")
	f.StringVar(&w.credentials, "bus-credentials", "", "`FILE` with the NATS user's JWT and seed")
	f.DurationVar(&w.wait, "wait", 2*time.Minute, "maximum time until the server is connected and the run begins")
	f.BoolVar(&w.pipe, pipeFlag, false, "communicate over standard input and output")
	f.Lookup(pipeFlag).Hidden = true
}

// Run works until the run that it joins is over. It returns a [cli.UsageError] for wrong flags
// or a wrong environment.
func (w *Worker) Run(ctx context.Context) error {
	member := fleet.Worker{Index: -1, Host: w.name, Generate: fleet.Generate, Patience: w.wait}
	if w.pipe {
		return member.Work(ctx, fleet.Pipe(ctx, os.Stdin, os.Stdout))
	}
	a := bus.Address{
		URL: cmp.Or(w.bus, os.Getenv(kube.EnvNATS)), Credentials: w.credentials,
		Run: os.Getenv(kube.EnvRun), Token: os.Getenv(kube.EnvToken),
	}
	switch {
	case a.URL == "":
		return cli.Usage("name the NATS server, as redline %s --bus nats://10.0.0.1:4222", WorkerVerb)
	case a.Run == "" || a.Token == "":
		return cli.Usage("set %s and %s to what redline load --bus prints", kube.EnvRun, kube.EnvToken)
	case w.wait <= 0:
		return cli.Usage("--wait %v: want more than 0, as 2m", w.wait)
	}
	if err := checkBusURL(a.URL); err != nil {
		return cli.Misuse(err)
	}
	if text := os.Getenv(kube.EnvIndex); text != "" {
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 {
			return cli.Usage("%s=%s: want the number of a worker, from 0", kube.EnvIndex, text)
		}
		member.Index = i
	}
	member.ID = bus.NewID()
	reaching, stop := context.WithTimeout(ctx, w.wait)
	conn, err := bus.Worker(reaching, a, member.ID)
	stop()
	if err != nil {
		return w.ended(ctx, err)
	}
	err = member.Work(ctx, conn)
	// After a regular end there is nothing left to send, and the server may already have
	// ended with the coordinator; otherwise Work has returned the reason.
	_ = conn.Close()
	return w.ended(ctx, err)
}

// ended returns the error that the command ends with.
func (w *Worker) ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "redline:", redact.Text(err.Error()))
	}
	return cli.ExitCode(130)
}
