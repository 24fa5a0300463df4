package redline_test

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

var (
	soakTime = flag.Duration("soak", usualSoak, "duration of TestSoak, all transports together")
	soakOnly = flag.String("soak.only", "", "the one thing that TestSoak's clients do; empty is everything")
	soakSeed = flag.Uint64("soak.seed", 0, "what TestSoak's clients do; 0 chooses, and says what")
)

const (
	usualSoak   = 3 * time.Second // the first clients do everything once, whatever it is
	soakClients = 48
	soakPart    = 8 << 10 // of a large response
	soakParts   = 64
	// The servers' patience with their clients: with one of them only who gives up
	// first is late, the other's deadlines pass all the time.
	soakWait  = 2 * patience
	soakHaste = 200 * time.Millisecond

	soakBuffer = 32 << 10 // WriteBuffer
	soakRead   = 64 << 10 // the most that is read at once
	soakOwn    = 1 << 20  // what a connection's handlers and its client hold themselves
	soakBase   = 16 << 20 // what does not depend on the number of clients
	// Resident is at most what connections may hold, and what is none of theirs. The
	// race detector's shadow is resident too.
	soakResident = slower * (soakBase + soakClients*(soakBuffer+soakRead+soakOwn))
)

// What a server of two loops may have as long as it serves.
const (
	loopFiles      = 16
	loopGoroutines = 16
)

// TestSoak has hostile clients and handlers that misbehave at a server for a
// while, with well-behaved clients in between, who must not notice. A second server,
// with the same handlers and short deadlines, may cut whom it likes, and its hooks
// close connections. Then everything has to be back where it was.
func TestSoak(t *testing.T) {
	if slower > 1 && *soakTime == usualSoak {
		t.Skip("under the race detector make chaos runs it, for longer")
	}
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test -run TestSoak . -soak %v -soak.seed %d", *soakTime, seed)
	file := filepath.Join(t.TempDir(), "large")
	noError(t, os.WriteFile(file, soakWhole, 0o600))
	onAll(t, func(t *testing.T, transport redline.Transport) {
		m := watchMemory()
		goroutines, files := runtime.NumGoroutine(), openFiles()
		h := &hostileHandlers{file: file}
		start := func(wait time.Duration, state func(net.Conn, http.ConnState)) *running {
			return serve(t, inClear(&redline.Server{
				Transport: transport, Loops: 2, Native: h.router().Serve, Logger: slog.New(slog.DiscardHandler),
				Limits:            redline.Limits{MaxBodyBytes: 8 << 20},
				ReadHeaderTimeout: wait, StallTimeout: wait, IdleTimeout: wait, ConnState: state,
				WriteBuffer: soakBuffer, MaxConns: 4 * soakClients,
			}))
		}
		s := &soak{patient: start(soakWait, nil), hasty: start(soakHaste, h.closes), done: map[string]int{}, took: map[string]time.Duration{}}
		s.run(t, seed)
		t.Logf("%d and %d connections: %v, at most %v", s.patient.Stats().Accepted, s.hasty.Stats().Accepted, s.done, s.took)
		for name := range hostilities {
			if *soakOnly == "" && s.done[name] == 0 && s.errors.Load() == 0 {
				t.Errorf("no client did %q", name)
			}
		}
		h.calm.Store(true)
		servers := []*running{s.patient, s.hasty}
		for _, r := range servers {
			until(t, "connections are closed", func() bool { return r.Stats().Open == 0 })
		}
		until(t, "handlers and streams have ended", func() bool { return h.running.Load() == 0 })
		until(t, "descriptors are closed", func() bool { return openFiles() <= files+len(servers)*loopFiles })
		until(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines+len(servers)*loopGoroutines })
		s.patient.dial().want("/id/42", "42")
		inTime(t, func(time.Duration) error {
			c := s.hasty.dial()
			c.ask("/id/42")
			if resp, err := http.ReadResponse(c.r, nil); err != nil || resp.StatusCode != 200 {
				return fmt.Errorf("at the end: %v, %v", resp, err)
			}
			return nil
		})
		for range 3 {
			runtime.GC() // what is pooled goes with the second one
		}
		m.sample()
		m.check(t)
	})
}

// resident is the process's resident memory that is not the garbage collector's to
// give back, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapInuse + m.StackInuse)
	}
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	noError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	noError(t, err)
	return pages * os.Getpagesize()
}

// run has the clients do what they do for their part of the time, and bounds what is
// resident meanwhile.
func (s *soak) run(t *testing.T, seed uint64) {
	before, most := resident(t), 0
	end := time.Now().Add(*soakTime / time.Duration(len(transports())))
	var over atomic.Bool
	var clients, watch sync.WaitGroup
	watch.Go(func() {
		for !over.Load() {
			most = max(most, resident(t)-before)
			time.Sleep(200 * time.Millisecond)
		}
	})
	for i := range soakClients {
		clients.Go(func() { s.client(i, rand.New(rand.NewPCG(seed, uint64(i))), end) })
	}
	clients.Wait()
	over.Store(true)
	watch.Wait()
	t.Logf("at most %d KiB more are resident than before, bound %d", most>>10, soakResident>>10)
	if most > soakResident {
		t.Errorf("%d bytes more are resident than before, bound %d", most, soakResident)
	}
}
