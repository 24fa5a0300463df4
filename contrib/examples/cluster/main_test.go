package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(brokerVar) != "" {
		main() // a node that the test has started
		return
	}
	os.Exit(m.Run())
}

// freeAddress returns an address that nothing listens on. Its port is none that the system gives out for
// port 0, and for outgoing connections: one of those could be taken again before the nodes have it.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(20_000))))
		if err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestKilledNode wants the others to serve on when a node is killed, and another one to take its place.
func TestKilledNode(t *testing.T) {
	addr := freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cluster(ctx, addr, 2, t.TempDir()) }()
	transport := &http.Transport{DisableKeepAlives: true}
	// ask returns the process that answers.
	ask := func() (pid int) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			return 0 // none listens, or it was killed
		}
		defer resp.Body.Close()
		if _, err := fmt.Fscanf(resp.Body, "process %d", &pid); err != nil {
			return 0
		}
		return pid
	}
	seen := map[int]bool{}
	until := func(what string, n int) {
		t.Helper()
		for give := time.Now().Add(time.Minute); len(seen) < n; time.Sleep(5 * time.Millisecond) {
			select {
			case err := <-ended:
				t.Fatalf("%s: the cluster has ended: %v", what, err)
			default:
			}
			if time.Now().After(give) {
				t.Fatalf("waited too long: %s", what)
			}
			if pid := ask(); pid != 0 {
				seen[pid] = true
			}
		}
	}
	until("two nodes answer", 2)
	for pid := range seen {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		break
	}
	until("another one answers", 3)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
