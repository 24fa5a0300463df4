package pushredis_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/contrib/pushredis"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// roleEnv makes the test binary a node: it has the path of the socket of Redis.
const roleEnv = "PUSHREDIS_TEST_NODE"

func TestMain(m *testing.M) {
	if path := os.Getenv(roleEnv); path != "" {
		if err := node(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// ttl is the lease of nodes that die. It is long enough for a slow machine to renew it.
const ttl = 3 * time.Second

// node runs a hub until its input ends.
func node(path string) error {
	r, err := pushredis.New(pushredis.Options{URL: "unix://" + path})
	if err != nil {
		return err
	}
	hub, err := push.New(push.Options{Registry: r, Node: "child", RegistryTTL: ttl})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, hub.Handler(nil)) }()
	fmt.Printf("http://%s\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// child starts a node as a process, and returns its URL and what kills it.
func child(t *testing.T, path string) (at string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // ends with this process
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = in.Close()
	}
	t.Cleanup(kill)
	at, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(at), kill
}

// known waits until the registry counts so many subscribers of the topic t, and fails if it
// ever counts more than most.
func known(t *testing.T, r *pushredis.Registry, n, most int) {
	t.Helper()
	pushtest.Until(t, fmt.Sprintf("%d are known", n), func() bool {
		got, err := r.Counts(t.Context(), []string{"t"})
		if err == nil && got[0] > most {
			t.Errorf("counted %d, there are at most %d", got[0], most)
		}
		return err == nil && slices.Equal(got, []int{n})
	})
}

var onT = pushtest.Query{Topics: []string{"t"}}

// TestNodeKilled kills one of two nodes. It is forgotten within its lease, and nobody is
// counted twice when it comes back under its name.
func TestNodeKilled(t *testing.T) {
	s := serve(t)
	r := s.registry(t)
	hub := pushtest.Hub(t, push.Options{Registry: r, Node: "here", RegistryTTL: time.Hour})
	pushtest.Open(t, pushtest.Plain(t, hub.Handler(nil)), onT)
	at, kill := child(t, s.path)
	for range 3 {
		pushtest.Open(t, at, onT)
	}
	known(t, r, 4, 4)
	w := watch(t, r)
	kill()
	killed := time.Now()
	known(t, r, 1, 4)
	t.Logf("3 of 4 subscribers were forgotten %v after their node was killed; its lease is %v", time.Since(killed).Round(time.Millisecond), ttl)
	// It is told when another node says something; "here" would say it after a third of its lease.
	if err := r.Update(t.Context(), push.Update{Node: "witness", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, "child lost")

	at, kill = child(t, s.path)
	for range 2 {
		pushtest.Open(t, at, onT)
	}
	known(t, r, 3, 3)
	kill()
	at, _ = child(t, s.path) // before its lease has ended
	pushtest.Open(t, at, onT)
	known(t, r, 2, 3)
}

// TestAllKilled leaves Redis alone with what a killed node has left.
func TestAllKilled(t *testing.T) {
	s := serve(t)
	r := s.registry(t)
	at, kill := child(t, s.path)
	pushtest.Open(t, at, onT)
	known(t, r, 1, 1)
	kill()
	pushtest.Until(t, "no key remains", func() bool { return len(s.keys()) == 0 })
}

// TestRedisGone kills Redis, which loses everything, and starts it again while subscribers
// come and go.
func TestRedisGone(t *testing.T) {
	s := serve(t)
	r := s.registry(t)
	hub := pushtest.Hub(t, push.Options{Registry: r, RegistryTTL: ttl})
	at := pushtest.Plain(t, hub.Handler(nil))
	var streams []*pushtest.Stream
	for range 5 {
		streams = append(streams, pushtest.Open(t, at, onT))
	}
	known(t, r, 5, 5)
	for range 3 {
		s.kill()
		if _, err := r.Counts(t.Context(), []string{"t"}); err == nil {
			t.Error("counted without Redis")
		}
		streams[0].Close()
		streams = streams[1:]
		pushtest.Publish(t, hub, "t", "events flow without Redis")
		streams[0].Want("events flow without Redis")
		s.start()
		known(t, r, len(streams), len(streams)+1) // until the hub has noticed who left
		streams = append(streams, pushtest.Open(t, at, onT))
		known(t, r, len(streams), len(streams))
		pushtest.Publish(t, hub, "t", "x")
		streams[0].Want("x")
	}
}

// TestClock has the clock of Redis jump. A node whose lease has ended by it says everything
// again, and nobody is counted twice.
func TestClock(t *testing.T) {
	s := serve(t)
	r := s.registry(t)
	hub := pushtest.Hub(t, push.Options{Registry: r, RegistryTTL: ttl})
	at := pushtest.Plain(t, hub.Handler(nil))
	for range 3 {
		pushtest.Open(t, at, onT)
	}
	known(t, r, 3, 3)
	for i, jump := range []time.Duration{time.Hour, -time.Hour, 1000 * time.Hour} {
		r.Skew(jump)
		pushtest.Open(t, at, onT)
		known(t, r, 4+i, 4+i)
	}
	_ = hub.Close()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if keys := s.keys(); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
}
