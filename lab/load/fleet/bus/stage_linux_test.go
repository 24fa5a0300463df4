package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/spec"
)

const (
	workers = 4
	victim  = 2
	window  = 5 * time.Second           // the kill is after one second; a slow machine may be four seconds late
	endless = time.Minute               // the victim's window: it must not end before the kill
	apart   = "REDLINE_TEST_NAMESPACES" // set: each worker in its own network namespace
)

// player is a worker process on the stage.
type player struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	host  string // at which it reaches the stage
}

// stage runs the whole test and prints the scene. With namespaces, the stage is in its own
// one: the host's network is not changed, and the interfaces end with the last process in it.
//
//	stage    v0 10.77.0.1 ──── eth0 10.77.0.2   worker 0
//	         v1 10.77.1.1 ──── eth0 10.77.1.2   worker 1
//	         ...
func stage() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	served := make([]atomic.Uint64, workers)
	host := "127.0.0.1"
	if os.Getenv(apart) != "" {
		host = "0.0.0.0"
		if err := ip("link set lo up"); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || i < 0 || i >= workers {
			http.NotFound(w, r)
			return
		}
		served[i].Add(1)
		io.WriteString(w, "Hello, World!")
	})}
	go server.Serve(listener)
	defer server.Close()

	a := New("")
	broker, err := Listen(host+":0", a.Token)
	if err != nil {
		return err
	}
	defer broker.Close()
	a.URL = broker.URL("127.0.0.1")
	coordinator, err := Coordinator(ctx, a)
	if err != nil {
		return err
	}
	var s scene
	players, err := cast(ctx, a, broker)
	if err == nil {
		err = s.play(ctx, coordinator, players, listener.Addr().(*net.TCPAddr).Port)
	}
	for _, p := range players {
		err = errors.Join(err, p.end())
	}
	if err = errors.Join(err, coordinator.Close()); err != nil {
		return err
	}
	for i := range served {
		s.Served = append(s.Served, served[i].Load())
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// cast starts the workers and connects their networks to that of the stage.
func cast(ctx context.Context, a Address, broker *Broker) ([]player, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var players []player
	for i := range workers {
		cmd := exec.CommandContext(ctx, exe)
		cmd.Env = append(os.Environ(), partEnv+"=worker")
		cmd.Stderr = os.Stderr
		c := call{Address: a, Index: i}
		p := player{cmd: cmd, host: "127.0.0.1"}
		if os.Getenv(apart) != "" {
			p.host = fmt.Sprintf("10.77.%d.1", i)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
			c.Device, c.Net = "eth0", fmt.Sprintf("10.77.%d.2/24", i)
			c.Address.URL = broker.URL(p.host)
		}
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return players, err
		}
		if err := cmd.Start(); err != nil {
			return players, err
		}
		players = append(players, p)
		if c.Device != "" {
			for _, args := range []string{
				fmt.Sprintf("link add v%d type veth peer name eth0 netns %d", i, cmd.Process.Pid),
				fmt.Sprintf("addr add %s/24 dev v%d", p.host, i),
				fmt.Sprintf("link set v%d up", i),
			} {
				if err := ip(args); err != nil {
					return players, err
				}
			}
		}
		if err := json.NewEncoder(p.stdin).Encode(c); err != nil {
			return players, err
		}
	}
	return players, nil
}

// end ends a worker and waits for it. The exit status of the killed one is not an error.
func (p *player) end() error {
	closing := p.stdin.Close()
	err := p.cmd.Wait()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		err = nil
	}
	return errors.Join(closing, err)
}

// play carries out the run, and kills the victim after one second of it.
func (s *scene) play(ctx context.Context, coordinator CoordinatorConn, players []player, port int) error {
	shares, err := fleet.Split(fleet.Load{Workers: workers, Connections: 2 * workers})
	if err != nil {
		return err
	}
	plan := fleet.Plan{Window: window, Tick: 100 * time.Millisecond, Join: patience, Ready: patience, Silence: 10 * time.Second}
	for i, share := range shares {
		own := window
		if i == victim {
			own = endless
		}
		order, err := json.Marshal(spec.Spec{
			Addr:        net.JoinHostPort(players[i].host, strconv.Itoa(port)),
			Request:     fmt.Appendf(nil, "GET /%d HTTP/1.1\r\nHost: test\r\n\r\n", i),
			Expect:      spec.Expect{Status: 200, Body: []byte("Hello, World!")},
			Connections: share.Connections, Pipeline: 1, Window: own, Tick: plan.Tick, Timeout: patience, Member: true,
		})
		if err != nil {
			return err
		}
		plan.Orders = append(plan.Orders, fleet.Order{Share: share, Spec: order})
		s.PIDs = append(s.PIDs, players[i].cmd.Process.Pid)
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", s.PIDs[i]))
		if err != nil {
			return err
		}
		s.Namespaces = append(s.Namespaces, ns)
	}
	var murder error
	plan.OnPoint = func(p fleet.Point) {
		if at := time.Duration(p.T * 1e9); s.Killed == 0 && at >= time.Second {
			s.Killed = at
			murder = syscall.Kill(s.PIDs[victim], syscall.SIGKILL)
		}
	}
	s.Outcome, err = fleet.Coordinate(ctx, coordinator, plan)
	return errors.Join(err, murder)
}
