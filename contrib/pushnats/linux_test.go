package pushnats_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

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
	o := pushnats.Options{Dir: dir}
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
				if failed++; failed == 3 {
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
