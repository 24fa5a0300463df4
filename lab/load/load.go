// Package load runs a load generator as a process of its own: the redline command
// itself, called with the verb [Verb], a [spec.Spec] on its standard input and
// [spec.Event] values on its standard output, a line each. The process ends only after
// its standard input has: until then its CPU clock can be read.
//
//	spec ──▶ load ──┬─▶ request ────┬──▶ spec.Event
//	                └─▶ subscribe ──┘
//	                     │ run                          phases, ticks, the window
//	                     │ h1, h2, tlsclient            protocols
//	                     │ wire                         sockets, and bytes up to a protocol
//	                     │ arrive, scenario, sse        what is asked, when
//	                     └ tally                        the results
//
// Package request sends requests, package subscribe reads streams. Both are
// clients of package run, which has the phases of a run. They are independent of
// each other; only [Run] uses both.
package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/load/request"
	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/subscribe"
	"github.com/redline-go/redline/lab/spawn"
)

// Verb is the hidden verb under which the redline command is a generator.
const Verb = "generate"

const stderrKept = 4 << 10

// Run is the work of such a process: it generates the load of a specification, with
// requests or subscribers, and reports it through emit; see run.Do.
func Run(ctx context.Context, order *spec.Spec, emit func(spec.Event)) error {
	if order.Listen != nil {
		return subscribe.Run(ctx, order, emit)
	}
	return request.Run(ctx, order, emit)
}

// Serve is Run for a process: it reads a spec.Spec from in and writes spec.Events to out, a
// line each. After a result it waits for the end of in, so that the caller can still read the
// clocks of the process.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var order spec.Spec
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("read the generator's specification: %w", err)
	}
	var broken error
	enc := json.NewEncoder(out)
	err := Run(ctx, &order, func(e spec.Event) { broken = cmp.Or(broken, enc.Encode(e)) })
	if err = cmp.Or(err, broken); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// WithAgain returns a context for Run that carries a second cancellation: the end of the context
// cuts the window short, and when again is then closed too, Run no longer waits for answers.
func WithAgain(ctx context.Context, again <-chan struct{}) context.Context {
	return run.WithAgain(ctx, again)
}

// A Process is one running generator. [Process.Follow] must be called once.
type Process struct {
	cmd    *exec.Cmd
	input  io.Closer       // its end lets the process end
	events chan spec.Event // closed at the end of its output
	stderr *tail.Tail
	broken error         // why its output could not be read; valid when events is closed
	exited chan struct{} // closed when the process has ended
	exit   error         // valid after exited
}

// Start starts the executable exe as a generator on the given CPUs, in its own process
// group. The end of ctx kills it.
func Start(ctx context.Context, l *spawn.Launcher, exe string, cpus []int, order *spec.Spec) (*Process, error) {
	input, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("encode the generator's spec: %w", err)
	}
	p := &Process{
		cmd:    exec.CommandContext(ctx, exe, Verb),
		events: make(chan spec.Event, 16),
		stderr: &tail.Tail{Limit: stderrKept},
		exited: make(chan struct{}),
	}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start generator: %w", err)
	}
	p.input = stdin
	p.cmd.Stderr = p.stderr
	p.cmd.Env = spawn.Environ()
	p.cmd.WaitDelay = 5 * time.Second // for its last output, if another process holds the pipe open
	// Not StdoutPipe: Wait must not close the pipe before the last event is read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start generator: %w", err), stdin.Close())
	}
	p.cmd.Stdout = w
	err = l.Start(p.cmd, cpus)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start generator: %w", err), r.Close(), stdin.Close())
	}
	go func() { _, _ = stdin.Write(input) }() // it fails if the process has ended, which is reported as such
	go p.read(r)
	go func() {
		p.exit = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the process ID, which is also the ID of its process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Interrupt asks the generator to end now: its result is the window until then. A second time,
// it asks it to wait no longer for the answers that are outstanding. It is no error if the process has ended.
func (p *Process) Interrupt() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Follow waits for the generator's result. It calls see with the process ID, and then with
// each event except the error of a failed run. An error of see ends the process. When Follow
// returns, the process has ended.
func (p *Process) Follow(see func(spec.Event) error) (*spec.Result, error) {
	err := see(spec.Event{PID: p.PID()})
	var result *spec.Result
	if err == nil {
		result, err = p.follow(see)
	}
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return result, p.finish()
}

func (p *Process) read(r io.ReadCloser) {
	defer close(p.events)
	dec := json.NewDecoder(r)
	for {
		var e spec.Event
		if err := dec.Decode(&e); err != nil {
			if !errors.Is(err, io.EOF) {
				p.broken = err
			}
			p.broken = errors.Join(p.broken, r.Close())
			return
		}
		p.events <- e
	}
}

// follow reads the generator's events up to its result.
func (p *Process) follow(see func(spec.Event) error) (*spec.Result, error) {
	for e := range p.events {
		if e.Error != "" {
			return nil, errors.New(e.Error)
		}
		if err := see(e); err != nil || e.Result != nil {
			return e.Result, err
		}
	}
	return nil, fmt.Errorf("the generator ended without a result: %w", p.finish())
}

// finish waits for the process and returns why it failed, nil if it did not.
func (p *Process) finish() error {
	p.release()
	for range p.events { // until read is done with p.broken
	}
	<-p.exited
	err := errors.Join(p.exit, p.broken)
	if err != nil {
		return fmt.Errorf("generator: %w\n%s", err, p.stderr)
	}
	return nil
}

// kill ends the process and drains its events.
func (p *Process) kill() error {
	err := p.cmd.Process.Kill()
	p.release()
	for range p.events {
	}
	<-p.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// release lets the process end. After it has ended, Wait has done that.
func (p *Process) release() { _ = p.input.Close() }
