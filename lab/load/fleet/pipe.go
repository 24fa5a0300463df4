package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
)

// Pipe returns a worker's Wire over its standard input and output, or other byte streams,
// with one message per line. The inbox is closed at the end of r, after the first message
// that cannot be read, or when the context ends. The caller keeps ownership of r.
func Pipe(ctx context.Context, r io.Reader, w io.Writer) Wire {
	p := &pipe{enc: json.NewEncoder(w), inbox: make(chan *Message, 16)}
	go p.read(ctx, r)
	return p
}

type pipe struct {
	mu    sync.Mutex
	enc   *json.Encoder
	inbox chan *Message
}

func (p *pipe) Send(m *Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enc.Encode(m)
}

func (p *pipe) Inbox() <-chan *Message { return p.inbox }

// read passes messages to the inbox until the end. An invalid message counts as the end.
func (p *pipe) read(ctx context.Context, r io.Reader) {
	defer close(p.inbox)
	dec := json.NewDecoder(r)
	for {
		m := new(Message)
		if err := dec.Decode(m); err != nil {
			return
		}
		m.Arrived = time.Now()
		select {
		case p.inbox <- m:
		case <-ctx.Done():
			return
		}
	}
}

// Processes is a Carrier over the standard input and output of child processes, which run
// [Worker.Work] over a [Pipe].
type Processes struct {
	children []*child
	inbox    chan *Message
	closing  chan struct{}
	readers  sync.WaitGroup
	patience time.Duration // of Close: exitWithin
}

// child is one worker process.
type child struct {
	id     string
	index  int // of its share
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *tail.Tail
	exited chan struct{}
	exit   error // valid after exited
}

const (
	writeWithin = 10 * time.Second // timeout of a write to a child that does not read
	stderrKept  = 4096             // bytes
	exitWithin  = 10 * time.Second // timeout of a child after the end of its standard input, including endWithin for its generator
)

// StartProcesses starts n workers. command creates the i-th, without standard streams, and
// start starts it, for example on its own CPUs; nil means [exec.Cmd.Start]. The workers end
// with this process, because their standard input ends.
func StartProcesses(n int, command func(i int) *exec.Cmd, start func(cmd *exec.Cmd, i int) error) (*Processes, error) {
	p := &Processes{inbox: make(chan *Message, 256), closing: make(chan struct{}), patience: exitWithin}
	if start == nil {
		start = func(cmd *exec.Cmd, _ int) error { return cmd.Start() }
	}
	for i := range n {
		c := &child{id: fmt.Sprint(i), index: i, cmd: command(i), stderr: &tail.Tail{Limit: stderrKept}, exited: make(chan struct{})}
		if err := c.start(func() error { return start(c.cmd, i) }); err != nil {
			return nil, errors.Join(fmt.Errorf("start worker %d: %w", i, err), p.Close())
		}
		p.children = append(p.children, c)
		p.readers.Add(1)
		go p.read(c)
	}
	return p, nil
}

// start creates the pipes and starts the process. It does not use the pipes of package exec:
// these have no deadlines, and Wait would close them before the last message is read.
func (c *child) start(start func() error) error {
	in, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), stdin.Close())
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = in, out, c.stderr
	c.cmd.WaitDelay = exitWithin
	err = start()
	if err = errors.Join(err, in.Close(), out.Close()); err != nil {
		return errors.Join(err, stdin.Close(), stdout.Close())
	}
	c.stdin, c.stdout = stdin, stdout
	go func() {
		c.exit = c.cmd.Wait()
		close(c.exited)
	}()
	return nil
}

// read passes a child's messages to the inbox, and finally a Gone.
func (p *Processes) read(c *child) {
	defer p.readers.Done()
	dec := json.NewDecoder(c.stdout)
	for {
		m := new(Message)
		err := dec.Decode(m)
		if err != nil {
			p.put(&Message{From: c.id, Gone: &Gone{c.lossText(err)}, Arrived: time.Now()})
			return
		}
		m.From, m.Arrived = c.id, time.Now()
		if m.Join != nil {
			m.Join.Index = c.index
		}
		p.put(m)
	}
}

func (p *Processes) put(m *Message) {
	select {
	case p.inbox <- m:
	case <-p.closing:
	}
}

// lossText explains why nothing more can be read from a child.
func (c *child) lossText(err error) string {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("its output cannot be read: %v", err)
	}
	select {
	case <-c.exited:
	case <-time.After(exitWithin):
		return "it closed its standard output"
	}
	text := "its process ended"
	if c.exit != nil {
		text += ": " + c.exit.Error()
	}
	if said := strings.TrimSpace(c.stderr.String()); said != "" {
		text += ": " + said
	}
	return text
}

// Send implements Carrier.
func (p *Processes) Send(worker string, m *Message) error {
	for _, c := range p.children {
		if c.id != worker {
			continue
		}
		line, err := json.Marshal(m)
		if err == nil {
			err = c.stdin.SetWriteDeadline(time.Now().Add(writeWithin))
		}
		if err == nil {
			_, err = c.stdin.Write(append(line, '\n'))
		}
		return err
	}
	return fmt.Errorf("no worker %q", worker)
}

// Inbox implements Carrier.
func (p *Processes) Inbox() <-chan *Message { return p.inbox }

// PID returns the process ID of the i-th child.
func (p *Processes) PID(i int) int { return p.children[i].cmd.Process.Pid }

// Close closes the children's standard input, kills those that do not end within ten
// seconds, and waits for all. It returns an error if a child had to be killed or could not be
// killed. The exit status of a child is not an error here: the inbox has reported it.
func (p *Processes) Close() error {
	var errs []error
	for _, c := range p.children {
		errs = append(errs, c.stdin.Close())
	}
	timeout := time.After(p.patience)
	for _, c := range p.children {
		select {
		case <-c.exited:
		case <-timeout:
			timeout = time.After(0)
			err := c.cmd.Process.Kill()
			if !errors.Is(err, os.ErrProcessDone) {
				errs = append(errs, err, fmt.Errorf("process %d did not end and was killed", c.cmd.Process.Pid))
			}
			<-c.exited
		}
	}
	close(p.closing)
	for _, c := range p.children {
		// A descendant of the child may hold the pipe open; reading must end anyway.
		errs = append(errs, c.stdout.SetReadDeadline(time.Now()))
	}
	p.readers.Wait()
	for _, c := range p.children {
		errs = append(errs, c.stdout.Close())
	}
	return errors.Join(errs...)
}
