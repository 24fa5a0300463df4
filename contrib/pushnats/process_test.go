package pushnats_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/redline-go/redline/contrib/pushnats"
	"github.com/redline-go/redline/push"
)

// Environment that makes the test binary another process of a test.
const (
	roleEnv   = "PUSHNATS_TEST_ROLE"   // broker or node
	dirEnv    = "PUSHNATS_TEST_DIR"    // of the broker
	listenEnv = "PUSHNATS_TEST_LISTEN" // address
	urlEnv    = "PUSHNATS_TEST_URL"    // of the broker, for a node
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the faults are meant
	role, ok := map[string]func() error{"broker": broker, "node": node, "member": member}[os.Getenv(roleEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// broker runs an embedded server until its input ends.
func broker() error {
	b, err := pushnats.New(pushnats.Options{Dir: os.Getenv(dirEnv), Listen: os.Getenv(listenEnv), Ping: ping})
	if err != nil {
		return err
	}
	if _, err := b.Open(context.Background()); err != nil {
		return err
	}
	fmt.Println(b.URL())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// ping is how often a silent connection of the tests is tested.
const ping = 500 * time.Millisecond

// node runs a hub on an external broker until its input ends.
func node() error {
	return run(pushnats.Options{URL: os.Getenv(urlEnv), Ping: ping})
}

// member runs a hub with one of three embedded servers, which hold the stream together: the
// URL is the host of this one, and those of all.
func member() error {
	hosts := strings.Fields(os.Getenv(urlEnv))
	return run(pushnats.Options{
		Dir: os.Getenv(dirEnv), Listen: hosts[0] + ":0", Replicas: 3, Sync: time.Second, Ping: ping,
		Configure: func(so *server.Options) {
			so.ServerName = hosts[0] // stays when the process does not
			so.Cluster = server.ClusterOpts{Name: "redline", Host: hosts[0], Port: 6222}
			for _, h := range hosts[1:] {
				so.Routes = append(so.Routes, &url.URL{Scheme: "nats-route", Host: h + ":6222"})
			}
		},
	})
}

func run(o pushnats.Options) error {
	b, err := pushnats.New(o)
	if err != nil {
		return err
	}
	// What was published while the broker was lost comes all at once: it must fit the queues.
	hub, err := push.New(push.Options{Broker: b, History: push.History{Events: 16}, QueueEvents: 1 << 16, QueueBytes: 1 << 28})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", os.Getenv(listenEnv))
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, serve(hub)) }()
	fmt.Printf("http://%s\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// serve mounts a hub, and a way to publish to it.
func serve(hub *push.Hub) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /events", hub.Handler(nil))
	mux.HandleFunc("POST /publish", func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err == nil {
			ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
			defer cancel()
			_, err = hub.Publish(ctx, push.Event{Topic: r.URL.Query().Get("topic"), ID: r.URL.Query().Get("id"), Data: data})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}

// A process is a broker or node that a test can kill.
type process struct {
	at  string // its URL
	cmd *exec.Cmd
	in  io.Closer
}

// start runs the test binary in a role, behind a command if there is one.
func start(t testing.TB, env []string, command ...string) *process {
	t.Helper()
	command = append(command, os.Args[0])
	p := &process{cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe() // ends with this process
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.in = in
	t.Cleanup(p.kill)
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: the process did not start", env)
	}
	p.at = strings.TrimSpace(at)
	return p
}

func startBroker(t testing.TB, dir, listen string) *process {
	return start(t, []string{roleEnv + "=broker", dirEnv + "=" + dir, listenEnv + "=" + listen})
}

func startNode(t testing.TB, url string) *process {
	return start(t, []string{roleEnv + "=node", urlEnv + "=" + url, listenEnv + "=127.0.0.1:0"})
}

// kill ends a process with SIGKILL, and waits for its end.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = p.in.Close()
		p.cmd = nil
	}
}
