package suite

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/backend"
	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/spawn"
)

// BackendVerb is the hidden subcommand of redline that runs the waiting backend (package
// backend) on the unix socket that its argument names.
const BackendVerb = "backend"

// BackendHTTP is the name of the subcommand's flag for HTTP.
const BackendHTTP = "http"

// The backends that services query.
const (
	backendRedis    = "redis"
	backendPostgres = "postgres"
	backendWait     = "wait"
	backendFanout   = "fanout"
)

// backends lists them in the order in which they start.
var backends = []string{backendRedis, backendPostgres, backendWait, backendFanout}

const (
	redisCommand = "redis-server"
	redisPackage = "redis-server" // of Debian
	redisKey     = "redline"
	longestWait  = backend.Longest

	// backendSlice is the scheduler's time slice of a backend, which shares its CPU with
	// the generator. A process with a short slice is scheduled sooner: it does not wait
	// for milliseconds while a generator polls.
	backendSlice = 100 * time.Microsecond
)

// redisValue is the value of redisKey: 64 bytes.
var redisValue = strings.Repeat("0123456789abcdef", 4)

// A service is a running backend.
type service struct {
	name    string
	socket  string
	address string // for services; empty: the socket
	cmd     *exec.Cmd
	stderr  *tail.Tail
	exited  chan struct{} // closed when the process has ended
	exit    error         // valid after exited
	release func() error  // removes its process group from the guard
	cpu     *cputime.Processes
}

// processes returns the backend's current processes: PostgreSQL has one for each
// connection.
func (s *service) processes() []int {
	if s.name == backendPostgres {
		return probe.Tree(s.cmd.Process.Pid)
	}
	return []int{s.cmd.Process.Pid}
}

// needs reports whether a workload uses the backend.
func (b *bench) needs(name string) bool {
	for _, w := range b.loads {
		if w.backend == name {
			return true
		}
	}
	return false
}

// checkBackends returns an error for a backend that is not installed, before anything is
// built.
func (b *bench) checkBackends() error {
	if b.needs(backendPostgres) {
		if _, err := findPostgres(postgresPrograms); err != nil {
			return err
		}
	}
	if !b.needs(backendRedis) {
		return nil
	}
	if _, err := exec.LookPath(redisCommand); err != nil {
		return fmt.Errorf("workloads of Redis need %s: install it (Debian and Ubuntu: apt-get install %s), or leave them out with --workloads",
			redisCommand, redisPackage)
	}
	return nil
}

// startBackends starts the backends of the workloads on the generator's CPUs. They run
// until stopBackends.
func (b *bench) startBackends(ctx context.Context) error {
	for _, name := range backends {
		if !b.needs(name) {
			continue
		}
		if err := b.startBackend(ctx, name); err != nil {
			return fmt.Errorf("start backend %s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) startBackend(ctx context.Context, name string) (err error) {
	s := &service{
		name: name, socket: filepath.Join(b.tmp, name+".sock"),
		stderr: &tail.Tail{Limit: stderrKept}, exited: make(chan struct{}),
	}
	switch name {
	case backendRedis:
		s.cmd = exec.Command(redisCommand, "--port", "0", "--unixsocket", s.socket, "--unixsocketperm", "777",
			"--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", b.tmp)
	case backendPostgres:
		if s.cmd, err = b.postgres(ctx, s); err != nil {
			return err
		}
	case backendWait:
		s.cmd = exec.Command(b.cfg.Executable, BackendVerb, s.socket)
	case backendFanout:
		s.cmd = exec.Command(b.cfg.Executable, BackendVerb, "--"+BackendHTTP, s.socket)
	}
	if s.cmd.Env == nil {
		s.cmd.Dir, s.cmd.Env = b.tmp, spawn.Environ()
	}
	s.cmd.Stdout, s.cmd.Stderr = s.stderr, s.stderr
	s.cmd.WaitDelay = 5 * time.Second
	if err := b.launcher.Start(s.cmd, b.cfg.GeneratorCPUs); err != nil {
		return err
	}
	release, err := b.guard.KillGroup(s.cmd.Process.Pid)
	s.release = release
	go func() {
		s.exit = s.cmd.Wait()
		close(s.exited)
	}()
	b.services = append(b.services, s)
	if err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, s.stderr)
	}
	if s.cpu, err = cputime.Open([]int{s.cmd.Process.Pid}); err != nil {
		return err
	}
	if err := spawn.ShortTurns(s.cmd.Process.Pid, backendSlice); err != nil {
		b.file.Notes = append(b.file.Notes, fmt.Sprintf(
			"backend %s shares the generator's CPU without a shorter time slice: latencies include its waiting for the CPU (%v)", name, err))
	}
	return nil
}

// ready waits until the backend answers.
func (s *service) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.greet()
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("process ended: %w", errors.Join(s.exit, err))
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *service) greet() (err error) {
	conn, err := net.DialTimeout("unix", s.socket, time.Second)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	switch s.name {
	case backendRedis:
		return greetRedis(conn)
	case backendPostgres:
		return greetPostgres(conn)
	}
	return nil
}

// greetRedis stores redisValue in Redis.
func greetRedis(conn net.Conn) error {
	if _, err := fmt.Fprintf(conn, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n",
		len(redisKey), redisKey, len(redisValue), redisValue); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && line != "+OK\r\n" {
		err = fmt.Errorf("response to SET is %q, want +OK", line)
	}
	return err
}

// stopBackends ends the backends with SIGTERM, PostgreSQL with SIGINT, and then SIGKILL.
func (b *bench) stopBackends() error {
	var errs []error
	for _, s := range b.services {
		errs = append(errs, s.stop())
	}
	b.services = nil
	return errors.Join(errs...)
}

func (s *service) stop() error {
	if s.cpu != nil {
		s.cpu.Close()
	}
	group := -s.cmd.Process.Pid
	var errs []error
	select {
	case <-s.exited:
	default:
		end := syscall.SIGTERM
		if s.name == backendPostgres {
			end = syscall.SIGINT // on SIGTERM it waits until clients have left
		}
		errs = append(errs, ignoreGone(syscall.Kill(group, end)))
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
	return errors.Join(errs...)
}

// service returns the running backend with that name, nil if there is none.
func (b *bench) service(name string) *service {
	for _, s := range b.services {
		if s.name == name {
			return s
		}
	}
	return nil
}

// sockets returns pairs of a placeholder and the address of its backend, which is empty
// if no workload uses it.
func (b *bench) sockets() (pairs []string) {
	for _, name := range backends {
		socket := ""
		if s := b.service(name); s != nil {
			socket = cmp.Or(s.address, s.socket)
		}
		pairs = append(pairs, "{"+name+"}", socket)
	}
	return pairs
}
