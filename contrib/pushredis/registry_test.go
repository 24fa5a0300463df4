package pushredis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redline-go/redline/contrib/pushredis"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// A server is a Redis of a test.
type server struct {
	t    testing.TB
	path string // of its socket
	cmd  *exec.Cmd
}

// serve starts a Redis that keeps nothing on disk.
func serve(t testing.TB) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // short, as a socket's path has to be
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, path: filepath.Join(dir, "socket")}
	t.Cleanup(func() {
		s.kill()
		os.RemoveAll(dir)
	})
	s.start()
	return s
}

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", s.path, "--save", "", "--appendonly", "no", "--dir", filepath.Dir(s.path))
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("%v: apt-get install redis-server", err)
	}
	pushtest.Until(s.t, "Redis answers", func() bool {
		c, err := net.Dial("unix", s.path)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
}

func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
	_ = os.Remove(s.path)
}

// keys returns all keys.
func (s *server) keys() []string {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: s.path})
	defer c.Close()
	keys, err := c.Keys(context.Background(), "*").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	return keys
}

func (s *server) registry(t testing.TB) *pushredis.Registry {
	t.Helper()
	r, err := pushredis.New(pushredis.Options{URL: "unix://" + s.path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func TestRegistry(t *testing.T) {
	s := serve(t)
	pushtest.Registry(t, func(t *testing.T) (push.Registry, func(time.Duration)) {
		r := s.registry(t)
		t.Cleanup(func() {
			if err := r.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if keys := s.keys(); len(keys) > 0 {
				t.Errorf("left: %q", keys)
			}
		})
		return r, r.Skew
	})
}

func member(id string, filters ...string) push.Member {
	return push.Member{ID: id, User: "user " + id, Filters: filters, Since: time.Unix(1_700_000_000, 0)}
}

// A watcher collects changes.
type watcher struct {
	mu   sync.Mutex
	seen []string
}

func watch(t testing.TB, r *pushredis.Registry) *watcher {
	w := new(watcher)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		if err := r.Watch(ctx, w.note); !errors.Is(err, context.Canceled) {
			t.Errorf("Watch: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); work.Wait() })
	w.wait(t, "missed")
	return w
}

func (w *watcher) note(c push.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Missed {
		w.seen = append(w.seen, "missed")
	}
	if c.Lost {
		w.seen = append(w.seen, c.Node+" lost")
	}
	for _, m := range c.Joined {
		w.seen = append(w.seen, c.Node+" +"+m.ID)
	}
	for _, m := range c.Left {
		w.seen = append(w.seen, c.Node+" -"+m.ID)
	}
}

// wait waits until these and no other changes were told, in any order of those of one call.
func (w *watcher) wait(t testing.TB, want ...string) {
	t.Helper()
	pushtest.Until(t, fmt.Sprintf("told %q", want), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.seen) >= len(want)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	got := slices.Sorted(slices.Values(w.seen))
	if w.seen = nil; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestWatch(t *testing.T) {
	s := serve(t)
	r, other := s.registry(t), s.registry(t)
	w := watch(t, r)
	update := func(u push.Update, want error) {
		t.Helper()
		u.TTL = 10 * time.Second
		if err := r.Update(t.Context(), u); !errors.Is(err, want) {
			t.Fatalf("%+v: %v, want %v", u, err, want)
		}
	}
	update(push.Update{Node: "x", Joined: []push.Member{member("1", "a"), member("2", "a")}}, nil)
	w.wait(t, "x +1", "x +2")
	update(push.Update{Node: "x", Left: []push.Member{member("1", "a")}}, nil)
	w.wait(t, "x -1")
	update(push.Update{Node: "x", Whole: true, Joined: []push.Member{member("2", "a"), member("3", "a")}}, nil)
	w.wait(t, "x +3")
	update(push.Update{Node: "x", Whole: true, Joined: []push.Member{member("3", "a")}}, nil)
	w.wait(t, "x -2")
	// The lease ends by the clock of Redis; another node notices.
	other.Skew(11 * time.Second)
	if err := other.Update(t.Context(), push.Update{Node: "y", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, "x lost")
	update(push.Update{Node: "x", Joined: []push.Member{member("4", "a")}}, pushredis.ErrLapsed)
	update(push.Update{Node: "x", Whole: true, Joined: []push.Member{member("3", "a"), member("4", "a")}}, nil)
	w.wait(t, "x +3", "x +4")
	s.kill()
	s.start()
	w.wait(t, "missed")
}

// TestMany moves more members than one script takes.
func TestMany(t *testing.T) {
	r := serve(t).registry(t)
	var all []push.Member
	for i := range 1234 {
		all = append(all, member(fmt.Sprint(i), "t", fmt.Sprint("t/", i%10), "x*/\u00e4/**"))
	}
	for _, step := range []struct {
		u    push.Update
		want []int
	}{
		{push.Update{Joined: all}, []int{1234, 123, 1234, 0}},
		{push.Update{Left: all[:1200]}, []int{34, 3, 34, 0}},
		{push.Update{Left: all[1200:], Joined: all[:600]}, []int{600, 60, 600, 0}},
		{push.Update{Whole: true, Joined: all}, []int{1234, 123, 1234, 0}},
	} {
		step.u.Node, step.u.TTL = "node", time.Minute
		if err := r.Update(t.Context(), step.u); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Counts(t.Context(), []string{"t", "t/4", "x*/\u00e4/**", "none"}); err != nil || !slices.Equal(n, step.want) {
			t.Errorf("got %v, %v, want %v", n, err, step.want)
		}
	}
	if got, err := r.Members(t.Context(), "t", 1000); err != nil || len(got) != 1000 {
		t.Errorf("%d members, %v", len(got), err)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    pushredis.Options
		want string
	}{
		{pushredis.Options{URL: "http://user:secret@host"}, "redis://"},
		{pushredis.Options{Prefix: "a{b}"}, "Options.Prefix"},
		{pushredis.Options{Client: redis.NewClient(&redis.Options{}), URL: "redis://host"}, "leave one out"},
	} {
		_, err := pushredis.New(c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	r := serve(t).registry(t)
	if err := r.Update(t.Context(), push.Update{Node: "x"}); err == nil {
		t.Error("a lease of no time")
	}
}

// TestLeft looks for what a closed registry leaves behind.
func TestLeft(t *testing.T) {
	s := serve(t)
	before := runtime.NumGoroutine()
	r := s.registry(t)
	hub := pushtest.Hub(t, push.Options{Registry: r, RegistryTTL: time.Minute})
	at := pushtest.Plain(t, hub.Handler(nil))
	stream := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}})
	pushtest.Until(t, "the member is known", func() bool {
		n, err := r.Counts(t.Context(), []string{"t"})
		return err == nil && n[0] == 1
	})
	stream.Close()
	_ = hub.Close()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if keys := s.keys(); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
	pushtest.Until(t, "goroutines have gone", func() bool { return runtime.NumGoroutine() <= before+4 }) // the HTTP server's
}
