package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/spawn"
)

const (
	startTimeout = 15 * time.Second
	stopTimeout  = 5 * time.Second
	stderrKept   = 4 << 10
)

// A server is one started process of a subject.
type server struct {
	subject *Subject
	addr    string // host:port that it listens on
	prefix  string // of the workloads' paths
	dir     string // its temporary directory
	cmd     *exec.Cmd
	stderr  *tail.Tail
	exited  chan struct{} // closed when the process has ended
	exit    error         // valid after exited
	pids    []int         // its processes, once it is ready
	control *probe.Control
	release func() error // removes its process group from the guard
}

// startServer starts the subject on a free port, with TLS if secure is set, and returns when
// it accepts connections. On errors it leaves nothing running.
func (b *bench) startServer(ctx context.Context, s *Subject, secure bool) (*server, error) {
	credentials, err := b.credentials(secure)
	if err != nil {
		return nil, err
	}
	dir, err := openDir(b.tmp, s.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("create directory of %s: %w", s.Name, err)
	}
	srv := &server{subject: s, dir: dir, stderr: &tail.Tail{Limit: stderrKept}, exited: make(chan struct{})}
	if err := srv.place(len(b.cfg.ServerCPUs), append(credentials, b.sockets()...)); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", s.Name, err), os.RemoveAll(dir))
	}
	srv.cmd.Stderr = srv.stderr
	srv.cmd.Stdout = srv.stderr
	if err := b.launcher.Start(srv.cmd, b.cfg.ServerCPUs); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", s.Name, err), os.RemoveAll(dir))
	}
	release, err := b.guard.KillGroup(srv.cmd.Process.Pid)
	if err != nil {
		release = func() error { return nil }
	}
	go func() {
		srv.exit = srv.cmd.Wait()
		close(srv.exited)
	}()
	if err == nil {
		err = srv.ready(ctx, b.cfg.Congestion)
	}
	if err != nil {
		return nil, errors.Join(srv.fail(err), srv.stop(), release())
	}
	srv.release = release
	return srv, nil
}

// openDir creates a temporary directory that servers can read even after they have
// dropped their privileges.
func openDir(parent, prefix string) (string, error) {
	dir, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

// place sets the server's command and address, and writes the subject's files.
func (s *server) place(cpus int, sockets []string) error {
	addr, prefix, err := s.address()
	if err != nil {
		return err
	}
	s.addr, s.prefix = addr, prefix
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	fill := strings.NewReplacer(append([]string{
		"{addr}", addr, "{host}", host, "{port}", port, "{dir}", s.dir, "{cpus}", strconv.Itoa(cpus),
		"{here}", s.subject.here, "{bin}", s.subject.bin,
	}, sockets...)...)
	for name, text := range s.subject.Files {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(fill.Replace(text)), 0o644); err != nil {
			return err
		}
	}
	args := make([]string, len(s.subject.Command))
	for i, a := range s.subject.Command {
		args[i] = fill.Replace(a)
	}
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Dir = s.dir
	s.cmd.Env = spawn.Environ()
	s.cmd.WaitDelay = 5 * time.Second // a grandchild may keep the pipe open
	return nil
}

// address returns where the subject will listen: on a free port if its URL contains
// {addr}, otherwise on the URL's port, which must be free.
func (s *server) address() (addr, prefix string, err error) {
	_, bare, _ := strings.Cut(s.subject.URL, "://")
	if rest, ok := strings.CutPrefix(bare, "{addr}"); ok {
		free, err := spawn.FreeAddress()
		return free.String(), strings.TrimSuffix(rest, "/"), err
	}
	u, err := url.Parse(s.subject.URL)
	if err != nil {
		return "", "", err
	}
	addr = u.Host
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", "", fmt.Errorf("address is not available: %w; stop what listens there, or write {addr} in the subject's url and command", err)
	}
	return addr, strings.TrimSuffix(u.Path, "/"), l.Close()
}

// ready waits until the server accepts connections, then sets the congestion
// control of its listening sockets: accepted ones inherit it.
func (s *server) ready(ctx context.Context, congestion string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.poll(ctx, func() error {
		c, err := net.DialTimeout("tcp", s.addr, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}); err != nil {
		return fmt.Errorf("not listening on %s: %w", s.addr, err)
	}
	s.pids = probe.Tree(s.cmd.Process.Pid)
	if congestion != "" {
		_, port, err := net.SplitHostPort(s.addr)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return err
		}
		if err := probe.SetCongestion(s.pids, n, congestion); err != nil {
			return fmt.Errorf("set congestion control: %w", err)
		}
	}
	if !s.subject.control {
		return nil
	}
	err := s.poll(ctx, func() (err error) {
		s.control, err = probe.DialControl(filepath.Join(s.dir, "control"))
		return err
	})
	if err != nil {
		return fmt.Errorf("connect to control socket: %w", err)
	}
	return nil
}

// poll calls try until it succeeds, the process ends or the context is done.
func (s *server) poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("process ended: %w", s.exitError())
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *server) exitError() error {
	if s.exit == nil {
		return errors.New("exit status 0")
	}
	return s.exit
}

// ended reports whether the process has ended.
func (s *server) ended() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// fail returns err as a *SubjectError with the tail of the subject's output.
func (s *server) fail(err error) error {
	return &SubjectError{Subject: s.subject.label(), Err: err, Stderr: s.stderr.String()}
}

// stop ends the server's whole process group with SIGTERM, then SIGKILL, and removes its
// directory.
func (s *server) stop() error {
	var errs []error
	if s.control != nil {
		errs = append(errs, s.control.Close())
	}
	group := -s.cmd.Process.Pid
	if !s.ended() {
		errs = append(errs, ignoreGone(syscall.Kill(group, syscall.SIGTERM)))
		select {
		case <-s.exited:
		case <-time.After(stopTimeout):
		}
	}
	errs = append(errs, ignoreGone(syscall.Kill(group, syscall.SIGKILL)))
	<-s.exited
	if s.release != nil {
		errs = append(errs, s.release())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

func ignoreGone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// A SubjectError reports a subject that did not start, crashed or answered wrongly.
type SubjectError struct {
	Subject string
	Err     error
	Stderr  string // tail of its output
}

func (e *SubjectError) Error() string { return e.Subject + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *SubjectError) Unwrap() error { return e.Err }
