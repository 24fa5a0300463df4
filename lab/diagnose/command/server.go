package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/diagnose/trial"
	"github.com/redline-go/redline/lab/internal/child"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/probe"
)

// server is the server under diagnosis, with the runs that load it.
type server struct {
	child *child.Child // nil: it ran already
	runs  *command.Runs
}

// start starts the server with a change, unless it runs already, and prepares its runs. The caller
// calls close.
func (o *Options) start(ctx context.Context, url string, changed func(string) bool, c trial.Change) (s *server, err error) {
	s = &server{}
	defer func() {
		if err != nil {
			err, s = errors.Join(err, s.close()), nil
		}
	}()
	if len(o.Command) > 0 {
		if err := s.launch(ctx, o.Command, url, c); err != nil {
			return s, err
		}
	}
	load := &o.Load
	if c.Header != "" {
		load = load.With(c.Header)
	}
	s.runs, err = load.Open(ctx, url, changed)
	return s, err
}

// launch starts the command and waits until it accepts connections.
func (s *server) launch(ctx context.Context, args []string, url string, c trial.Change) (err error) {
	options := child.Options{Env: c.Env}
	if c.CPUs > 0 {
		allowed, err := probe.Allowed()
		if err != nil {
			return err
		}
		options.CPUs = allowed[:min(c.CPUs, len(allowed))]
	}
	if err := child.Free(ctx, url); err != nil {
		return err
	}
	if s.child, err = child.Start(args, options); err != nil {
		return err
	}
	if err := child.Listening(ctx, s.child.Done(), url); err != nil {
		if s.child.Ended() {
			return fmt.Errorf("%s ended before it accepted connections: %s", s.child.Name(), s.child.How())
		}
		return err
	}
	return nil
}

// close ends the runs, and the command if one was started.
func (s *server) close() error {
	var errs []error
	if s.runs != nil {
		errs = append(errs, s.runs.Close())
	}
	if s.child != nil {
		errs = append(errs, s.child.Close())
	}
	return errors.Join(errs...)
}
