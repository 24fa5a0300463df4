package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/load"
)

// A generator is one running generator process: the redline command itself,
// called with the verb that reads a load.Spec.
type generator struct {
	cmd    *exec.Cmd
	events chan load.Event // closed at the end of its output
	stderr *tail.Tail
	broken error         // why its output could not be read; valid when events is closed
	exited chan struct{} // closed when the process has ended
	exit   error         // valid after exited
}

// GeneratorVerb is the hidden verb under which the redline command is a
// generator process: a load.Spec on standard input, load.Events on standard
// output.
const GeneratorVerb = "generate"

func (b *bench) startGenerator(ctx context.Context, spec *load.Spec) (*generator, error) {
	input, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the generator's orders: %w", err)
	}
	g := &generator{
		cmd:    exec.CommandContext(ctx, b.cfg.Executable, GeneratorVerb),
		events: make(chan load.Event, 16),
		stderr: &tail.Tail{Limit: stderrKept},
		exited: make(chan struct{}),
	}
	g.cmd.Stdin = bytes.NewReader(input)
	g.cmd.Stderr = g.stderr
	g.cmd.Env = environ()
	g.cmd.WaitDelay = time.Second
	// A pipe of our own rather than StdoutPipe: Wait must not close it before
	// the last event is read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start generator: %w", err)
	}
	g.cmd.Stdout = w
	err = b.launcher.start(g.cmd, b.cfg.GeneratorCPUs)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start generator: %w", err), r.Close())
	}
	go g.read(r)
	go func() {
		g.exit = g.cmd.Wait()
		close(g.exited)
	}()
	return g, nil
}

func (g *generator) read(r io.ReadCloser) {
	defer close(g.events)
	dec := json.NewDecoder(r)
	for {
		var e load.Event
		if err := dec.Decode(&e); err != nil {
			if !errors.Is(err, io.EOF) {
				g.broken = err
			}
			g.broken = errors.Join(g.broken, r.Close())
			return
		}
		g.events <- e
	}
}

// generate runs a generator process to its result. Each of its events but the
// last words of a failure goes to see, whose error ends the process.
func (b *bench) generate(ctx context.Context, spec *load.Spec, see func(load.Event) error) (*load.Result, error) {
	g, err := b.startGenerator(ctx, spec)
	if err != nil {
		return nil, err
	}
	result, err := g.follow(see)
	if err != nil {
		return nil, errors.Join(err, g.kill())
	}
	return result, g.finish()
}

// follow reads the generator's events until its result.
func (g *generator) follow(see func(load.Event) error) (*load.Result, error) {
	for e := range g.events {
		if e.Error != "" {
			return nil, errors.New(e.Error)
		}
		if err := see(e); err != nil || e.Result != nil {
			return e.Result, err
		}
	}
	return nil, fmt.Errorf("the generator ended without a result: %w", g.finish())
}

// finish waits for the process and returns why it did not do its work, if so.
func (g *generator) finish() error {
	for range g.events { // until read is done with g.broken
	}
	<-g.exited
	err := errors.Join(g.exit, g.broken)
	if err != nil {
		return fmt.Errorf("generator: %w\n%s", err, g.stderr)
	}
	return nil
}

// kill ends the process and drains its events.
func (g *generator) kill() error {
	err := g.cmd.Process.Kill()
	for range g.events {
	}
	<-g.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
