package rules

import (
	"math/rand/v2"
	"testing"

	"github.com/redline-go/redline/lab/diagnose"
)

// Time is divided by what requests do and where, and what was not seen is left over.
func TestSpend(t *testing.T) {
	for _, c := range []struct {
		name        string
		make        func(p patient) patient
		what, where string // of the first part
		share       float64
	}{
		{"sleeps", func(p patient) patient {
			return p.waits(14, "waiting", "sleep", under("time.Sleep", "main.(*shop).pause", "main.(*shop).show")...)
		}, "waits (sleep)", "main.(*shop).pause", 0.6},
		{"works", func(p patient) patient { return p.busy().cpu(0.9, under("main.rate", "main.(*shop).show")...) }, "on the CPU, or waits for it", "main.rate", 0.5},
		{"python", func(p patient) patient {
			p.foreign("python").knee().OffCPU = &stacks{Total: 130, List: []stack{
				{Weight: 40, Frames: append(frames("__schedule", "hrtimer_nanosleep", "__x64_sys_clock_nanosleep"), diagnose.Frame{Func: "time_sleep", Kind: diagnose.Library})},
				{Weight: 20, Frames: append(frames("__schedule", "futex_do_wait"), diagnose.Frame{Func: "pthread_cond_wait", Kind: diagnose.Library})},
				{Weight: 70, Frames: frames("__schedule", "ep_poll", "do_epoll_wait")},
			}}
			p.knee().Looked = 4
			return p
		}, "sleeps", "time_sleep", 0.5},
	} {
		list := Spend(c.make(healthy()).Evidence)
		if len(list) < 2 {
			t.Fatalf("%s: %+v", c.name, list)
		}
		i, sum := 0, 0.0
		for j, s := range list {
			sum += s.Share
			if s.What == c.what && s.Place.Func == c.where {
				i = j
			}
		}
		if first := list[i]; first.What != c.what || first.Place.Func != c.where || first.Share < c.share || len(first.Stack) == 0 || sum > 1.001 {
			t.Errorf("%s: sum %g, %+v", c.name, sum, list)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		g := generator{rng: rng, wild: rng.IntN(3) == 0}
		for _, s := range Spend(g.evidence()) {
			if !(s.Share >= 0 && s.Share <= 1) || s.What == "" {
				t.Fatalf("%+v", s)
			}
		}
	}
}
