package pushnats_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/contrib/pushnats"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// mount makes a small file system of memory, and returns a function that changes its size.
// Without the right to, it returns false, and the test uses the limit of the stream.
func mount(t *testing.T, dir, size string) (resize func(string), ok bool) {
	t.Helper()
	err := syscall.Mount("redline", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) {
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return func(size string) {
		if err := syscall.Mount("redline", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}, true
}

// TestDiskFull fills the disk of the broker, and frees it again. What was acknowledged is
// still there, in order, and the subscribers miss nothing.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	resize, ok := mount(t, dir, "3m")
	o := pushnats.Options{Dir: dir, Timeout: time.Second, MaxEventBytes: 1 << 18}
	if !ok {
		t.Log("without the right to mount, the stream's limit takes the place of the disk's end: TestGap has what follows")
		return
	}
	b := open(t, o)
	hub := pushtest.Hub(t, push.Options{Broker: b, MaxDelay: 0, QueueEvents: 1 << 16, QueueBytes: 1 << 28})
	pushtest.Until(t, "the hub is ready", hub.Ready)
	at := pushtest.Plain(t, hub.Handler(nil))
	s := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}})
	begin := s.Start.ID
	pad := strings.Repeat("x", 10_000)
	failed := 0
	var acked []string
	for n := 0; n < 600; n++ {
		// As a publisher does: again, until it is acknowledged.
		e := push.Event{Topic: "t", ID: fmt.Sprint("id", n), Data: []byte(fmt.Sprint(n, " ", pad))}
		pushtest.Until(t, "the event is acknowledged", func() bool {
			_, err := hub.Publish(t.Context(), e)
			if err != nil {
				if failed++; strings.Contains(err.Error(), "free space") {
					t.Logf("after %d events: %v", n, err)
					resize("64m")
				}
			}
			return err == nil
		})
		acked = append(acked, string(e.Data))
	}
	if failed == 0 {
		t.Fatal("the disk was never full")
	}
	s.Want(acked...)
	pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: begin}).Want(acked...)
	t.Logf("disk full: %d events acknowledged, %d attempts failed; none lost, repeated or out of order", len(acked), failed)
}

// A wire is a network name space that is joined to this one.
type wire struct {
	t            *testing.T
	space        string
	here, there  string // addresses
	outer, inner string // interfaces
}

func (w *wire) ip(arguments ...string) error {
	out, err := exec.Command("ip", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(arguments, " "), err, out)
	}
	return nil
}

// set brings the link up or down.
func (w *wire) set(state string) {
	w.t.Helper()
	if err := w.ip("link", "set", w.outer, state); err != nil {
		w.t.Fatal(err)
	}
}

// newWire makes a name space with a link of 10.99.n.0/24.
func newWire(t *testing.T, space string, n int, create bool) *wire {
	t.Helper()
	w := &wire{
		t: t, space: space, here: fmt.Sprintf("10.99.%d.1", n), there: fmt.Sprintf("10.99.%d.2", n),
		outer: fmt.Sprintf("rl%do%d", os.Getpid()%1_000_000, n), inner: fmt.Sprintf("rl%di%d", os.Getpid()%1_000_000, n),
	}
	if create {
		t.Cleanup(func() { _ = w.ip("netns", "del", space) })
		if err := w.ip("netns", "add", space); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = w.ip("link", "del", w.outer) })
	for _, a := range [][]string{
		{"link", "add", w.outer, "type", "veth", "peer", "name", w.inner},
		{"link", "set", w.inner, "netns", space},
		{"addr", "add", w.here + "/24", "dev", w.outer},
		{"link", "set", w.outer, "up"},
		{"-n", space, "addr", "add", w.there + "/24", "dev", w.inner},
		{"-n", space, "link", "set", w.inner, "up"},
		{"-n", space, "link", "set", "lo", "up"},
	} {
		if err := w.ip(a...); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestPartition cuts one of two nodes from the broker, but not from its clients.
func TestPartition(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("name spaces need root; TestBrokerKilled has the same loss for all nodes at once")
		return
	}
	space := fmt.Sprintf("redline%d", os.Getpid())
	toBroker := newWire(t, space, 211, true)
	toClients := newWire(t, space, 212, false)
	b := startBroker(t, t.TempDir(), toBroker.here+":0")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(b.at, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	far := start(t, []string{roleEnv + "=node", urlEnv + "=nats://" + toBroker.here + ":" + port, listenEnv + "=" + toClients.there + ":0"},
		"ip", "netns", "exec", space)
	near := startNode(t, b.at)
	l := newLoad(t, events(300), near.at, far.at)
	l.publish("x")
	cuts := 2 * *scale
	for i := range cuts {
		l.reached((i + 1) * 100 / (cuts + 1))
		toBroker.set("down")
		failed := l.retried.Load()
		l.until("the far node refuses events", func() bool { return l.retried.Load() > failed })
		toBroker.set("up")
	}
	l.finish(fmt.Sprintf("partitioned %d times", cuts))
}

// memberHosts are those of three members, and only of this process: all of 127.0.0.0/8 is this
// machine.
func memberHosts() (hosts []string) {
	for i := range 3 {
		hosts = append(hosts, fmt.Sprintf("127.%d.%d.%d", 64+os.Getpid()>>16&63, os.Getpid()>>8&255, os.Getpid()&63<<2+i+1))
	}
	return hosts
}

// memberEnv is the environment of the member with the data in dir.
func memberEnv(dir, listen, host string, hosts []string) []string {
	return []string{
		roleEnv + "=member", dirEnv + "=" + filepath.Join(dir, "data"), listenEnv + "=" + listen,
		urlEnv + "=" + host + " " + strings.Join(hosts, " "),
	}
}

// TestServersKilled kills one of three nodes that hold the stream together, each with a server
// inside, and starts it again with what is on its disk.
func TestServersKilled(t *testing.T) {
	if *scale == 1 {
		t.Log("its elections take up to a minute: make push-faults runs it")
		return
	}
	hosts := memberHosts()
	var members []*process
	var envs [][]string
	var at []string
	for i := range hosts {
		envs = append(envs, memberEnv(t.TempDir(), "127.0.0.1:0", hosts[i], hosts))
		members = append(members, start(t, envs[i]))
		at = append(at, members[i].at)
	}
	const kills = 3
	l := newLoad(t, 300, at...)
	l.publish("x")
	for i := range kills {
		l.reached((i + 1) * 100 / (kills + 1))
		members[i%3].kill()
		acked := l.acked.Load()
		l.until("the others go on", func() bool { return l.acked.Load() > acked+10 })
		members[i%3] = start(t, envs[i%3])
		l.set(i%3, members[i%3].at)
	}
	l.finish(fmt.Sprintf("%d nodes with their servers killed", kills))
}

// TestServersPartition cuts one of three nodes that hold the stream together from the others, but
// not from its clients.
func TestServersPartition(t *testing.T) {
	switch {
	case *scale == 1:
		t.Log("its elections take up to a minute: make push-faults runs it")
		return
	case os.Getuid() != 0:
		t.Log("name spaces need root; TestServersKilled has the same elections")
		return
	}
	space := fmt.Sprintf("redline%d", os.Getpid())
	toMembers := newWire(t, space, 213, true)
	toClients := newWire(t, space, 214, false)
	const second = "10.99.213.3"
	if err := toMembers.ip("addr", "add", second+"/24", "dev", toMembers.outer); err != nil {
		t.Fatal(err)
	}
	hosts := []string{toMembers.here, second, toMembers.there}
	far := start(t, memberEnv(t.TempDir(), toClients.there+":0", hosts[2], hosts), "ip", "netns", "exec", space)
	one := start(t, memberEnv(t.TempDir(), "127.0.0.1:0", hosts[0], hosts))
	two := start(t, memberEnv(t.TempDir(), "127.0.0.1:0", hosts[1], hosts))
	const cuts = 2
	l := newLoad(t, 300, one.at, two.at, far.at)
	l.publish("x")
	for i := range cuts {
		l.reached((i + 1) * 100 / (cuts + 1))
		toMembers.set("down")
		acked, failed := l.acked.Load(), l.retried.Load()
		l.until("the far node refuses events", func() bool { return l.retried.Load() > failed })
		l.until("the others go on", func() bool { return l.acked.Load() > acked+10 })
		toMembers.set("up")
	}
	l.finish(fmt.Sprintf("one of three nodes with servers cut off %d times", cuts))
}
