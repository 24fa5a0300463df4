package redline_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

var (
	soakTime = flag.Duration("soak", 10*time.Second, "duration of TestSoak, all transports together")
	soakOnly = flag.String("soak.only", "", "the one thing that TestSoak's clients do; empty is everything")
	soakSeed = flag.Uint64("soak.seed", 0, "what TestSoak's clients do; 0 chooses, and says what")
)

const (
	soakClients = 32
	soakPart    = 8 << 10 // of a large response
	soakParts   = 64
	// The servers' patience with their clients: with one of them only who gives up
	// first is late, the other's deadlines pass all the time.
	soakWait  = 2 * patience
	soakHaste = 200 * time.Millisecond
)

// TestSoak has hostile clients and handlers that misbehave at a server for a
// while, with well-behaved clients in between, who must not notice. A second server,
// with the same handlers and short deadlines, may cut whom it likes. Then everything
// has to be back where it was.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test -run TestSoak . -soak %v -soak.seed %d", *soakTime, seed)
	onEach(t, func(t *testing.T, transport redline.Transport) {
		m := watchMemory()
		goroutines, files := runtime.NumGoroutine(), openFiles()
		h := new(hostileHandlers)
		start := func(wait time.Duration) *running {
			return serve(t, &redline.Server{
				Transport: transport, Loops: 2, Native: h.router().Serve, Logger: slog.New(slog.DiscardHandler),
				Limits:            redline.Limits{MaxBodyBytes: 8 << 20},
				ReadHeaderTimeout: wait, StallTimeout: wait, IdleTimeout: wait,
				WriteBuffer: 32 << 10, MaxConns: 4 * soakClients,
			})
		}
		s := &soak{patient: start(soakWait), hasty: start(soakHaste), done: map[string]int{}}
		end := time.Now().Add(*soakTime / time.Duration(len(transports())))
		var clients sync.WaitGroup
		for i := range soakClients {
			clients.Go(func() { s.client(i, rand.New(rand.NewPCG(seed, uint64(i))), end) })
		}
		clients.Wait()
		t.Logf("%d and %d connections: %v", s.patient.Stats().Accepted, s.hasty.Stats().Accepted, s.done)
		for name := range hostilities {
			if *soakOnly == "" && s.done[name] == 0 && s.errors.Load() == 0 {
				t.Errorf("nobody did %q", name)
			}
		}
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

// What a server of two loops may have as long as it serves.
const (
	loopFiles      = 16
	loopGoroutines = 16
)

// hostileHandlers are handlers that do what handlers should not, and some that
// do what they should.
type hostileHandlers struct {
	running atomic.Int64
}

func (h *hostileHandlers) router() *redline.Router {
	router, std := redline.NewRouter(), twins()
	for pattern, f := range map[string]redline.HandlerFunc{
		"/id/{n}":     func(c *redline.Ctx) { c.Text(200, c.Param("n")) },
		"/echo":       h.echo,
		"/drop":       h.drop,
		"/sleep/{n}":  h.sleep,
		"/panic":      func(*redline.Ctx) { panic("on purpose") },
		"/panic/late": func(*redline.Ctx) { time.Sleep(5 * time.Millisecond); panic("late, on purpose") },
		"/panic/midway": func(c *redline.Ctx) {
			_, _ = c.Write(make([]byte, 100<<10)) // the panic is what matters
			panic("midway, on purpose")
		},
		"/abort":  func(*redline.Ctx) { panic(redline.ErrAbort) },
		"/big":    big,
		"/short":  func(c *redline.Ctx) { c.SetContentLength(100); c.Text(200, "short") },
		"/stream": h.stream,
		"/hijack": h.hijack,
	} {
		answer := either(f, std[pattern])
		router.Handle("", pattern, func(c *redline.Ctx) {
			h.running.Add(1)
			defer h.running.Add(-1)
			answer(c)
		})
	}
	return router
}

func (h *hostileHandlers) echo(c *redline.Ctx) {
	body, err := c.ReadBody(1 << 20)
	if err != nil {
		c.Error(400)
		return
	}
	if err := c.Bytes(200, "application/octet-stream", body); err != nil {
		panic(err)
	}
}

// drop reads some of a body and leaves the rest, now and then late.
func (h *hostileHandlers) drop(c *redline.Ctx) {
	p := make([]byte, rand.IntN(64<<10))
	if _, err := c.Body().Read(p); err == nil && rand.IntN(4) == 0 {
		time.Sleep(2 * time.Millisecond)
	}
	c.Text(200, "dropped")
}

// sleep blocks, with an eye on its client or without.
func (h *hostileHandlers) sleep(c *redline.Ctx) {
	d := time.Duration(rand.IntN(20)) * time.Millisecond
	if rand.IntN(2) == 0 {
		time.Sleep(d)
	} else {
		select {
		case <-c.Context().Done():
		case <-time.After(d):
		}
	}
	c.Text(200, c.Param("n"))
}

// big answers with soakParts parts that tell where they are.
func big(c *redline.Ctx) {
	for i := range soakParts {
		if _, err := c.Write(bytes.Repeat([]byte{byte(i)}, soakPart)); err != nil {
			return
		}
	}
}

// stream numbers events, until the client has had enough or there is no more.
func (h *hostileHandlers) stream(c *redline.Ctx) {
	most := 1 + rand.IntN(200)
	c.Stream(func(s *redline.Stream) {
		h.running.Add(1)
		defer h.running.Add(-1)
		defer s.Close()
		if rand.IntN(8) == 0 {
			most = 1 << 30 // endless
		}
		for i := range most {
			if _, err := fmt.Fprintf(s, "%d\n", i); err != nil {
				return
			}
			if rand.IntN(20) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	})
}

// hijack echoes what comes, up to a line, after its handler returned.
func (h *hostileHandlers) hijack(c *redline.Ctx) {
	nc, err := c.Hijack()
	if err != nil {
		return
	}
	h.running.Add(1)
	go func() {
		defer h.running.Add(-1)
		defer nc.Close()
		if err := nc.SetDeadline(time.Now().Add(soakWait)); err != nil {
			return
		}
		var line []byte
		for p := make([]byte, 1); ; {
			if _, err := nc.Read(p); err != nil {
				return
			}
			if line = append(line, p[0]); p[0] == '\n' {
				_, _ = nc.Write(line) // the client may have gone
				return
			}
		}
	}()
}

// wantParts reads the answer of big.
func wantParts(body io.Reader) error {
	p := make([]byte, soakPart)
	for i := range soakParts {
		if _, err := io.ReadFull(body, p); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		if bytes.Count(p, []byte{byte(i)}) != len(p) {
			return fmt.Errorf("part %d is not what was written", i)
		}
	}
	if n, err := io.Copy(io.Discard, body); n != 0 || err != nil {
		return fmt.Errorf("%d bytes behind the last part, %w", n, err)
	}
	return nil
}

// wantEvents reads up to most events of stream.
func wantEvents(read func() (string, error), most int) error {
	for i := range most {
		line, err := read()
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil || line != strconv.Itoa(i)+"\n" {
			return fmt.Errorf("event %d is %q, %w", i, line, err)
		}
	}
	return nil
}
