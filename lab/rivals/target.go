package rivals

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/rivals/scripted"
	"github.com/redline-go/redline/lab/spawn"
)

// orderTimeout limits every exchange with a server.
const orderTimeout = 10 * time.Second

// A target is a server process under load.
type target struct {
	url    string
	addr   string
	cmd    *exec.Cmd
	stderr *tail.Tail
	ended  chan error // receives its exit, once

	// Only for the limit server, whose responses all have the same size:
	sockets *tally
	size    uint64
	// Only for a server process of this command:
	orders io.WriteCloser
	said   chan string // lines of its output; closed at the end of the output
}

// start runs a command on the server's CPUs.
func (t *target) start(l *spawn.Launcher, cpus []int) error {
	t.stderr, t.ended = &tail.Tail{Limit: 4 << 10}, make(chan error, 1)
	t.cmd.Stderr, t.cmd.Env, t.cmd.WaitDelay = t.stderr, spawn.Environ(), 5*time.Second
	if err := l.Start(t.cmd, cpus); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	go func() {
		err := t.cmd.Wait()
		if out, ok := t.cmd.Stdout.(io.Closer); ok {
			err = errors.Join(err, out.Close()) // stops its reader
		}
		t.ended <- err
	}()
	return nil
}

// startLimit starts the responder that parses nothing, so that the generator limits the
// rate.
func startLimit(ctx context.Context, l *spawn.Launcher, cpus []int, exe string) (t *target, err error) {
	addr, err := spawn.FreeAddress()
	if err != nil {
		return nil, err
	}
	port := int(addr.Port())
	t = &target{addr: addr.String(), sockets: newTally(port)}
	t.url = "http://" + t.addr + "/plaintext"
	t.cmd = exec.Command(exe, "--addr", t.addr)
	if err := t.start(l, cpus); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(orderTimeout)
	for t.size, err = answerSize(t.addr); err != nil; t.size, err = answerSize(t.addr) {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("the server does not answer: %w; it printed %q", err, t.stderr), t.stop())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := probe.SetCongestion([]int{t.cmd.Process.Pid}, port, "cubic"); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// answerSize sends one request, and counts the bytes of the response.
func answerSize(addr string) (size uint64, err error) {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHost: "+addr+"\r\n\r\n"); err != nil {
		return 0, err
	}
	var got []byte
	for buf := make([]byte, 4096); !bytes.HasSuffix(got, []byte(scripted.Body)); {
		n, err := c.Read(buf)
		if err != nil {
			return 0, err
		}
		got = append(got, buf[:n]...)
	}
	return uint64(len(got)), nil
}

// startServe starts a server process of this command; see [scripted.Serve].
func startServe(l *spawn.Launcher, cpus []int, exe, mode string) (t *target, err error) {
	t = &target{cmd: exec.Command(exe, scripted.Verb, mode), said: make(chan string, 1)}
	if t.orders, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	t.cmd.Stdout = in
	if err := t.start(l, cpus); err != nil {
		return nil, err
	}
	go func() {
		defer close(t.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.said <- lines.Text()
		}
	}()
	if t.addr, err = t.hear(); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	t.url = "http://" + t.addr + "/"
	if mode == scripted.HTTP2 {
		t.url = "https://" + t.addr + "/"
	}
	return t, nil
}

// hear returns the next line of the server's output.
func (t *target) hear() (string, error) {
	select {
	case text, ok := <-t.said:
		if ok {
			return text, nil
		}
	case err := <-t.ended:
		t.ended <- err
	case <-time.After(orderTimeout):
	}
	return "", fmt.Errorf("the server does not answer; it printed %q", t.stderr)
}

// order sends a line to the server and returns its answer.
func (t *target) order(text string) (string, error) {
	if _, err := io.WriteString(t.orders, text+"\n"); err != nil {
		return "", fmt.Errorf("send %s to the server: %w", text, err)
	}
	return t.hear()
}

// stall makes the server do nothing for d.
func (t *target) stall(d time.Duration) error {
	_, err := t.order("stall " + d.String())
	return err
}

// count returns how many requests the server has answered so far.
func (t *target) count() (float64, error) {
	if t.sockets != nil {
		sent, err := t.sockets.read()
		return float64(sent) / float64(t.size), err
	}
	return t.number("count")
}

// number sends a line to the server and returns its answer, a number.
func (t *target) number(line string) (float64, error) {
	text, err := t.order(line)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(text), 64)
}

// stop asks the server to end, and kills it if it does not.
func (t *target) stop() error {
	var errs []error
	if t.orders != nil {
		errs = append(errs, t.orders.Close())
	} else {
		errs = append(errs, t.cmd.Process.Signal(syscall.SIGTERM))
	}
	select {
	case err := <-t.ended:
		errs = append(errs, err)
	case <-time.After(orderTimeout):
		errs = append(errs, errors.New("the server did not end when asked to, and was killed"), t.cmd.Process.Kill(), <-t.ended)
	}
	return errors.Join(errs...)
}
