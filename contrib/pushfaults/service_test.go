package pushfaults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
)

// state is what a service says about itself.
type state struct {
	push.Stats
	Heap     int64 // after a collection
	Position string
}

// A host is the process of a service from within.
type host struct {
	o       *order
	a       *attack
	hub     *push.Hub // nil: site is served
	handler http.Handler
	native  redline.HandlerFunc // nil: handler is served
	publish func(topic string, data []byte) error
	stats   func() push.Stats
	feeding sync.WaitGroup
}

// textBytes is what is resident of the program's file.
const textBytes = 8 << 20

// playService is the main function of a service. It does what the lines of its input say.
func playService(o *order) {
	h := &host{o: o, a: find(o.Attack)}
	if o.Resident > 0 {
		debug.SetMemoryLimit(o.Resident - textBytes)
	}
	h.a.start(h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fatal(err)
	}
	go h.serve(l)
	out := json.NewEncoder(os.Stdout)
	say := func(v any) {
		if err := out.Encode(v); err != nil {
			fatal(err)
		}
	}
	say(l.Addr().String())
	feeds := make(chan int, 1<<16)
	go func() {
		for tick := range feeds {
			h.a.feed(h, tick)
			h.feeding.Done()
		}
	}()
	seq := 0
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "publish":
			if h.a.feed != nil {
				h.feeding.Add(1)
				feeds <- seq
			}
			seq++
			if err := h.publish("honest", fmt.Appendf(nil, "%d %d", seq, time.Now().UnixNano())); err != nil {
				fatal(err)
			}
			say(seq)
		case "state":
			h.feeding.Wait()
			say(h.state())
		}
	}
}

func (h *host) serve(l net.Listener) {
	var err error
	switch h.o.Host {
	case hostPlain:
		err = (&http.Server{Handler: h.handler}).Serve(l)
	default:
		s := &redline.Server{Handler: h.handler, Native: h.native, Transport: redline.TransportEpoll, Logger: slog.New(slog.DiscardHandler)}
		if h.o.Host == hostUring {
			s.Transport = redline.TransportUring
		}
		if h.native != nil {
			s.Handler = nil
		}
		err = s.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		fatal(err)
	}
}

// state waits for what is still on its way: the hub looks at its memory again after a tick.
func (h *host) state() state {
	for end := time.Now().Add(patience / 2); h.stats().Bytes > h.o.MaxBytes && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	s := state{Stats: h.stats(), Heap: int64(m.HeapAlloc)}
	if h.hub != nil {
		s.Position = h.hub.Position()
	}
	return s
}

// serveHub serves a hub with these options, which must be able to hold what the honest clients need.
func (h *host) serveHub(o push.Options, authorize func(*http.Request) ([]string, error)) {
	o.MaxBytes, o.Logger = h.o.MaxBytes, slog.New(slog.DiscardHandler)
	hub, err := push.New(o)
	if err != nil {
		fatal(err)
	}
	for end := time.Now().Add(patience); !hub.Ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			fatal(errors.New("the hub is not ready"))
		}
	}
	handler := hub.Handler(authorize)
	h.hub, h.handler, h.native, h.stats = hub, handler, handler.Serve, hub.Stats
	h.publish = func(topic string, data []byte) error {
		_, err := hub.Publish(context.Background(), push.Event{Topic: topic, Data: data})
		return err
	}
}

// patience is how long anything may take.
const patience = time.Minute

// A process is one that the test has started.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a process of this program in a role. It ends with the test, or when the test dies: its input
// ends then.
func start(t *testing.T, variable string, o *order, command ...string) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	command = append(command, os.Args[0])
	p := &process{t: t, cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env = append(os.Environ(), variable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	p.in, err = p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

// stop ends the process. It may be called more than once.
func (p *process) stop() {
	if p.in == nil {
		return
	}
	p.in.Close()
	p.in = nil
	kill := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%s: %v", p.cmd, err)
	}
}

// hear reads the next thing that the process says.
func (p *process) hear(v any) {
	p.t.Helper()
	kill := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, v)
	}
	if err != nil {
		p.t.Fatalf("%s says %q: %v", p.cmd, line, err)
	}
}

func (p *process) say(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
}

// A service is the process of a service from outside.
type service struct {
	*process
	at        string
	idle      int64
	published int
}

func startService(t *testing.T, o order) *service {
	t.Helper()
	s := &service{process: start(t, serviceVariable, &o)}
	s.hear(&s.at)
	s.state()
	s.idle = s.resident()
	return s
}

func (s *service) publish() {
	s.t.Helper()
	s.say("publish")
	s.hear(&s.published)
}

func (s *service) state() (st state) {
	s.t.Helper()
	s.say("state")
	s.hear(&st)
	return st
}

// cpu is the CPU time of the process, or 0 where that cannot be known.
func (s *service) cpu() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // from the third on, proc(5)
	if len(fields) < 13 {
		return 0
	}
	ticks := time.Duration(0)
	for _, f := range fields[11:13] {
		n, _ := strconv.Atoi(f)
		ticks += time.Duration(n)
	}
	return ticks * time.Second / 100
}

// resident is the memory of the process that is resident, or 0 where that cannot be known.
func (s *service) resident() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib := int64(0)
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}
