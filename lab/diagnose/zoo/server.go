package zoo

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/spawn"
)

// startLimit is how long a process may take until it listens.
const startLimit = 20 * time.Second

// stopLimit is how long it may take to end after SIGTERM: a second, and patience for a machine
// that is busy. Tests have more of that.
var stopLimit = 5 * time.Second

// ErrNeeds is the error of a species that this machine or this user cannot give what it needs,
// such as a cgroup.
var ErrNeeds = errors.New("a need of the species is not met")

// A Server is a running service of the zoo, with its backend. [Server.Stop] ends both.
type Server struct {
	Addr  string // HOST:PORT on which it answers
	PID   int    // of the server's process
	PProf string // URL that ends with /debug/pprof/; empty: it does not have net/http/pprof

	server, backend *process
	dir             string // its files
	group           *group // nil: it runs in that of this process
}

// Start builds the zoo if that was not done, and starts one variant of the service, with its
// backend, in the cgroup and on the CPUs that it needs. ctx limits the start, not the life of
// the server. The caller must call [Server.Stop]. If this process dies before, the kernel kills the
// server. The error is [ErrNeeds] if the machine does not have what the species needs.
func (s Species) Start(ctx context.Context, twin bool) (*Server, error) {
	server, err := s.start(ctx, twin)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, errors.Join(err, server.Stop()))
	}
	return server, nil
}

// start returns what was started, also with an error.
func (s Species) start(ctx context.Context, twin bool) (*Server, error) {
	z := &Server{}
	bin, err := build(ctx)
	if err != nil {
		return z, err
	}
	if z.dir, err = os.MkdirTemp("", "redline-zoo-files-"); err != nil {
		return z, err
	}
	env := map[string]string{"PORT": "0", "ZOO_DIR": z.dir}
	if s.Backend != nil {
		own := maps.Clone(env)
		maps.Copy(own, s.Backend.Env)
		if twin {
			maps.Copy(own, s.Backend.TwinEnv)
		}
		if z.backend, err = begin(ctx, []string{filepath.Join(bin, "backends", s.Backend.Name)}, own, nil, 0, ""); err != nil {
			return z, fmt.Errorf("backend: %w", err)
		}
		env["BACKEND"] = z.backend.said["listening"]
	}
	env["PORT"] = strconv.Itoa(s.Port)
	variant, more := "sick", s.Needs.SickEnv
	quota, memory := s.Needs.Quota, s.Needs.Memory
	if twin {
		variant, more = "twin", s.Needs.TwinEnv
		quota, memory = cmp.Or(s.Needs.TwinQuota, quota), cmp.Or(s.Needs.TwinMemory, memory)
		env["ZOO_TWIN"] = "1"
	}
	maps.Copy(env, s.Needs.Env)
	maps.Copy(env, more)
	if z.group, err = newGroup(quota, memory); err != nil {
		return z, err
	}
	if len(s.Command) > 0 {
		z.server, err = s.beginForeign(ctx, z.dir, twin, env, z.group)
	} else {
		z.server, err = begin(ctx, []string{filepath.Join(bin, variant, s.Name)}, env, z.group, s.Needs.CPUs, "")
	}
	if err != nil {
		return z, err
	}
	z.Addr, z.PID = z.server.said["listening"], z.server.cmd.Process.Pid
	switch s.PProf {
	case Same:
		z.PProf = "http://" + z.Addr + "/debug/pprof/"
	case Admin:
		z.PProf = "http://" + z.server.said["admin"] + "/debug/pprof/"
	}
	return z, nil
}

// Stop ends the server and its backend, and removes their files and the cgroup. The error is
// that of a process that ended before, that did not end on SIGTERM or that failed while it ended; it is
// gone nevertheless.
func (z *Server) Stop() error {
	var errs []error
	for _, p := range []*process{z.server, z.backend} {
		if p != nil {
			errs = append(errs, p.end())
		}
	}
	z.server, z.backend = nil, nil
	errs = append(errs, z.group.remove())
	z.group = nil
	if z.dir != "" {
		errs = append(errs, os.RemoveAll(z.dir))
	}
	return errors.Join(errs...)
}

// A process is one that prints its address.
type process struct {
	name     string // of the program
	cmd      *exec.Cmd
	launcher *spawn.Launcher
	ended    chan struct{} // closed when the process has ended
	err      error         // of Wait; valid after ended
	stderr   *tail.Tail
	said     map[string]string // first word of "WORD on ADDR" to the address
}

// begin starts a program and waits until it prints that it listens, or with addr until it accepts
// connections there. With an error nothing is left running.
func begin(ctx context.Context, argv []string, env map[string]string, g *group, cpus int, addr string) (*process, error) {
	allowed, err := pick(cpus)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if g != nil { // the shell enters the cgroup before the program's first instruction
		cmd = exec.Command("/bin/sh", append([]string{"-c", `p=$0; for f; do echo $$ >"$f" || exit 1; done; exec "$p"`, argv[0]}, g.procs()...)...)
	}
	cmd.Env = spawn.Environ()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	p := &process{
		name: filepath.Base(argv[0]), cmd: cmd, launcher: spawn.NewLauncher(), ended: make(chan struct{}), stderr: &tail.Tail{Limit: 4 << 10},
	}
	cmd.Stderr = p.stderr
	cmd.WaitDelay = stopLimit // for descendants that keep standard error open
	stdout, write, err := os.Pipe()
	if err != nil {
		p.launcher.Close()
		return nil, err
	}
	cmd.Stdout = write
	err = p.launcher.Start(cmd, allowed)
	_ = write.Close()
	if err != nil {
		p.launcher.Close()
		_ = stdout.Close()
		return nil, err
	}
	said := make(chan map[string]string, 1)
	go func() { said <- announcements(stdout) }()
	go func() {
		p.err = cmd.Wait()
		_ = stdout.Close() // ends announcements
		close(p.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if addr != "" {
		if err = p.answers(ctx, addr); err == nil {
			p.said = map[string]string{"listening": addr}
			return p, nil
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(argv[0]), err), p.kill())
	}
	select {
	case p.said = <-said:
		if p.said["listening"] != "" {
			return p, nil
		}
		err = errors.New("it did not print the address on which it listens")
		select { // it ends, so that the error can say why
		case <-p.ended:
		case <-time.After(time.Second):
		}
	case <-ctx.Done():
		err = fmt.Errorf("wait until it listens: %w", ctx.Err())
	}
	return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(argv[0]), err), p.kill())
}

// announcements reads lines "WORD on ADDR" up to the one that begins with listening. Then it
// reads everything else in the background, so that the process never waits for it.
func announcements(stdout io.Reader) map[string]string {
	said := map[string]string{}
	lines := bufio.NewReader(io.LimitReader(stdout, 1<<16))
	for said["listening"] == "" {
		line, err := lines.ReadString('\n')
		if word, addr, ok := strings.Cut(strings.TrimSpace(line), " on "); ok {
			said[word] = addr
		}
		if err != nil {
			return said
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return said
}

// end asks the process to end, kills it if it does not, and waits for it.
func (p *process) end() error {
	select {
	case <-p.ended:
		return errors.Join(fmt.Errorf("%s ended before it was stopped: %v: %s", p.name, p.cmd.ProcessState, p.stderr), p.kill())
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("%s did not end on SIGTERM within %v", p.name, stopLimit), p.kill())
	}
	if p.err != nil {
		return errors.Join(fmt.Errorf("%s: %w: %s", p.name, p.err, p.stderr), p.kill())
	}
	return p.kill()
}

// kill kills whatever is left of the process group, and waits for the process. The error has what the
// process wrote on standard error if it had ended by itself with an error.
func (p *process) kill() error {
	var err error
	select {
	case <-p.ended:
		if p.err != nil && p.said["listening"] == "" {
			err = fmt.Errorf("%w: %s", p.err, p.stderr)
		}
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
	p.launcher.Close()
	return err
}
