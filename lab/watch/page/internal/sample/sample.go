// Package sample invents watches, for the tests of the page.
package sample

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/output"
	"github.com/redline-go/redline/lab/watch/page"
)

const hostile = `</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2">`

// Write writes the page of a watch of a kind: usual, nothing (no figure), long (some hours), sparse
// (by a redline that hardly got the CPU), or hostile (names full of markup).
func Write(w io.Writer, kind string) error {
	// The steps are long, so that a slow machine does not make the sampler rest.
	every, n, step, name := 2*time.Second, 300, 1, "shop"
	s := &invented{}
	switch kind {
	case "usual":
	case "nothing":
		n, s.silent = 1, true
	case "sparse":
		n, step = 151, 150
	case "long":
		every, n = 10*time.Second, 1500
	case "hostile":
		name, s.peer = hostile, hostile
	default:
		return fmt.Errorf("no kind %q: write usual, nothing, long, sparse or hostile", kind)
	}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := output.Begin{Tool: "v1", Started: began, PID: 4711, Command: []string{"./" + name, "-addr", ":8080"}, Every: every.Seconds()}
	if kind == "hostile" {
		b.Extra = []watch.Figure{{Name: hostile, Unit: watch.Count, Source: hostile, Meaning: hostile}}
	}
	p := page.New(b, name)
	watcher, err := watch.New(watch.Options{Every: every, Samplers: []watch.Sampler{s}, Marks: watch.Marks(), Cost: free}, p.Event)
	if err != nil {
		return err
	}
	for i := 0; i < n; i += step {
		if err := watcher.Step(context.Background(), began.Add(time.Duration(i)*every)); err != nil {
			return err
		}
	}
	return p.Write(w, watcher.Summary(watch.EndTime))
}

// free is what a reading of invented figures costs.
func free(f func()) time.Duration {
	f()
	return 0
}

// invented is a sampler of a server under a load that rises and falls, and that leaks goroutines.
type invented struct {
	silent bool
	peer   string
	began  time.Time
}

func (*invented) Name() string         { return "invented" }
func (*invented) Every() time.Duration { return 0 }
func (*invented) Close() error         { return nil }

// Sample sets every figure, so that the page has every chart.
func (s *invented) Sample(_ context.Context, r *watch.Reading) error {
	if s.silent {
		r.Miss("netlink sock_diag", "operation not permitted: run as root or as the process's user", "tcp_rtt")
		return nil
	}
	if s.began.IsZero() {
		s.began = r.At
	}
	t := r.At.Sub(s.began).Seconds()
	load := 1.2 + math.Sin(t/90)
	for i, f := range watch.Figures() {
		names := []string{f.Name}
		if _, _, family := watch.Family(f.Name); family {
			names = names[:0]
			for _, member := range []string{"read", "write", "epoll_pwait", "futex", "accept4", "10.0.0.7:5432" + s.peer} {
				names = append(names, watch.Member(f.Name, member))
			}
		}
		for k, name := range names {
			scale := size(f.Unit) * (1 + float64((7*i+3*k)%5)/3)
			if f.Counter {
				r.Count(name, 0, scale*(1.2*t-90*math.Cos(t/90)+100))
			} else {
				r.Set(name, scale*load)
			}
		}
	}
	r.Set("goroutines", 40+6*t)
	r.Count("requests", 0, 12_000*t)
	if s.peer != "" {
		r.Set(s.peer, load)
	}
	return nil
}

// size is the order of the values of a unit.
func size(u watch.Unit) float64 {
	switch u {
	case watch.Bytes, watch.ByteRate:
		return 40 << 20
	case watch.PerSecond:
		return 4000
	case watch.Count:
		return 60
	case watch.Seconds:
		return 0.0004
	case watch.Share, watch.Cores:
		return 0.2
	}
	return 1
}
