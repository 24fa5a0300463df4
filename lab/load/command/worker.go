package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/kube"
)

// Worker is the command line of a worker.
type Worker struct {
	bus, name, credentials string
	wait                   time.Duration
	pipe                   bool
}

// Bind makes the flags.
func (w *Worker) Bind(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&w.bus, "bus", "", "`URL` of the NATS server (default: REDLINE_NATS)")
	f.StringVar(&w.name, "name", "", "what the result calls the machine (default: its host name)")
	f.StringVar(&w.credentials, "bus-credentials", "", "`FILE` with the NATS user's JWT and seed")
	f.DurationVar(&w.wait, "wait", 2*time.Minute, "for the server, and for the run to begin")
	f.BoolVar(&w.pipe, pipeFlag, false, "be led over standard input and output")
	f.Lookup(pipeFlag).Hidden = true
}

// Run works until the run that it joins is over. It returns a [cli.UsageError] for
// flags, or an environment, that cannot be meant.
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
	// Who was told that all is done has nothing more to send, and the server may have
	// ended with the coordinator by now; of another end Work has said the reason.
	_ = conn.Close()
	return w.ended(ctx, err)
}

// ended is how the command ends.
func (w *Worker) ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "redline:", err)
	}
	return cli.ExitCode(130)
}
