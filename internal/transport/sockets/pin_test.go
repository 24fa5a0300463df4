//go:build linux

package sockets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
)

// TestPinGivenBack pins the thread of the leader and no other, though its loop was given
// up by a goroutine with which it shares the session, and it keeps the connection.
func TestPinGivenBack(t *testing.T) {
	var usable []int
	for cpu := range 1024 {
		if sys.CheckCPUs([]int{cpu}) == nil {
			usable = append(usable, cpu)
		}
	}
	if len(usable) == 1 {
		t.Skip("this process may use one CPU only: its threads are as good as pinned, whatever the transport does")
	}
	eachDriver(t, func(t *testing.T, d driver) {
		stats := d.stats()
		addr, _ := script(t, d, transport.Config{Pin: usable[:1]}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			done := make(chan struct{})
			go func() {
				s.Detach()
				close(done)
			}()
			<-done
			_, err := out.Write(in)
			return len(in), err
		}})
		before := pinned(t)
		for range 3 {
			c := open(t, addr)
			for n := stats().Stayed; stats().Stayed < n+3; {
				send(t, c, "x")
				want(t, c, "x")
			}
		}
		until(t, "one thread is pinned", func() bool { return pinned(t) <= max(before, 1) })
	})
}

// pinned is the number of the process's threads that may run on one CPU only.
func pinned(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		_, list, _ := strings.Cut(string(b), "Cpus_allowed_list:")
		list, _, _ = strings.Cut(list, "\n")
		if !strings.ContainsAny(list, "-,") {
			n++
		}
	}
	return n
}
