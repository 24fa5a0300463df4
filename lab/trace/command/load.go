package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/command"
)

const (
	warmup = time.Second
	margin = time.Second // of the load before and after the trace, for the answer to the request for it
)

// Load is the load under which a trace is taken.
type Load struct {
	URL         string // empty: none
	Rate        string
	Connections int
}

// loading is a load that runs.
type loading struct {
	out  bytes.Buffer
	done chan struct{} // nil: there is no load
	err  error         // when done is closed
}

// begin begins the load, and returns in the middle of its window: the window is longer than the
// trace on both sides.
func (l *Load) begin(ctx context.Context, trace time.Duration) (*loading, error) {
	r := &loading{}
	if l.URL == "" {
		return r, nil
	}
	var flags command.Flags
	c := &cobra.Command{
		Use: "load", SilenceUsage: true, SilenceErrors: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return flags.Run(c, args[0]) },
	}
	flags.Bind(c.Flags())
	cli.BindColor(c.PersistentFlags())
	args := []string{"--quiet", "--allow-invalid", "--color=never", "--warmup", warmup.String(), "--duration", (trace + 2*margin).String()}
	if l.Rate != "" {
		args = append(args, "--rate", l.Rate)
	}
	if l.Connections > 0 {
		args = append(args, "--connections", fmt.Sprint(l.Connections))
	}
	c.SetArgs(append(args, "--", l.URL))
	c.SetOut(&r.out)
	c.SetErr(io.Discard)
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.err = c.ExecuteContext(ctx)
	}()
	select {
	case <-time.After(warmup + margin):
	case <-r.done: // it failed
		if r.err == nil {
			r.err = errors.New("it ended before the trace began")
		}
		return nil, fmt.Errorf("--load %s: %w", l.URL, r.err)
	case <-ctx.Done():
	}
	return r, nil
}

// end waits for the load, and shows its result: it is no result of the trace.
func (r *loading) end(console Console) error {
	if r.done == nil {
		return nil
	}
	<-r.done
	fmt.Fprintf(console.Err, "the load during the trace:\n%s\n", strings.TrimRight(r.out.String(), "\n"))
	if r.err != nil {
		return fmt.Errorf("--load: %w", r.err)
	}
	return nil
}
