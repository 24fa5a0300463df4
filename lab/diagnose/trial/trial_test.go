package trial

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/diagnose"
)

// server answers with figures that a change divides by factor, with noise.
func server(factor map[string]float64, seed uint64) func(context.Context, Change) (Outcome, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(_ context.Context, c Change) (Outcome, error) {
		f := factor[c.Name]
		if f == 0 {
			f = 1
		}
		noise := func() float64 { return math.Exp(0.01 * rng.NormFloat64()) }
		return Outcome{Rate: 1000 * f * noise(), CPU: 1e-3 / f * noise(), Latency: 0.02 / f * noise(), RSS: 1e8*f + 1e6*rng.NormFloat64()}, nil
	}
}

func TestTry(t *testing.T) {
	changes := []Change{{Name: "GOGC=400", Confirms: []string{"gc-pressure"}}, {Name: "pinned", Confirms: []string{"pinning"}}, {Name: "no use", Confirms: []string{"gogc-thrash"}}}
	trials, err := Try(t.Context(), Options{Changes: changes, Seed: 1, Run: server(map[string]float64{"GOGC=400": 1.3, "pinned": 0.8}, 2)})
	if err != nil || len(trials) != 3 {
		t.Fatal(trials, err)
	}
	for _, s := range trials[0].Effects {
		want := map[string]float64{"ceiling": 0.3, "cpu": 1/1.3 - 1, "latency": 1/1.3 - 1, "rss": 3e7}[s.Figure]
		if !s.Clear || math.Abs(s.Change/want-1) > 0.2 || s.Low > s.Change || s.High < s.Change {
			t.Errorf("%+v, want %v", s, want)
		}
	}
	if want := "GOGC=400: highest rate +30 % ("; !strings.HasPrefix(trials[0].Text, want[:20]) {
		t.Errorf("%q, want %q", trials[0].Text, want)
	}
	if want := "no use: no difference beyond the noise"; trials[2].Text != want {
		t.Errorf("%q, want %q", trials[2].Text, want)
	}
	causes := []diagnose.Cause{
		{ID: "gc-pressure", Gain: diagnose.Gain{CPU: 0.25}},
		{ID: "gogc-thrash", Gain: diagnose.Gain{CPU: 0.4}},
		{ID: "cpu-bound", Gain: diagnose.Gain{CPU: 0.1}},
	}
	kept, refuted, rest := Settle(causes, changes, trials)
	if len(kept) != 2 || kept[0].ID != "gc-pressure" || kept[0].Trial == nil || kept[1].ID != "cpu-bound" || kept[1].Trial != nil {
		t.Errorf("kept %+v", kept)
	}
	if len(refuted) != 1 || refuted[0].ID != "gogc-thrash" || !refuted[0].Trial.Refuted {
		t.Errorf("refuted %+v", refuted)
	}
	if len(rest) != 1 || rest[0].Change != "pinned" {
		t.Errorf("rest %+v", rest)
	}
	// One of two trials that confirms a cause is enough.
	both := []Change{{Name: "no use", Confirms: []string{"gogc-thrash"}}, {Name: "GOGC=400", Confirms: []string{"gogc-thrash"}}}
	kept, refuted, _ = Settle(causes[1:2], both, []diagnose.Trial{trials[2], trials[0]})
	if len(kept) != 1 || len(refuted) != 0 || kept[0].Trial.Change != "GOGC=400" {
		t.Errorf("kept %+v, refuted %+v", kept, refuted)
	}
}

// An interval that leaves the predicted gain open refutes nothing.
func TestOpen(t *testing.T) {
	wide := diagnose.Trial{Effects: []diagnose.Shift{{Figure: "cpu", Change: -0.05, Low: -0.3, High: 0.2}, {Figure: "rss", Change: -1e9, Clear: true}}}
	if refutes(&wide, 0.2) {
		t.Error("refuted")
	}
	if !refutes(&wide, 0.8) {
		t.Error("not refuted")
	}
}

func TestTryFails(t *testing.T) {
	stop := errors.New("stop")
	trials, err := Try(t.Context(), Options{Changes: []Change{{Name: "x"}}, Run: func(context.Context, Change) (Outcome, error) { return Outcome{}, stop }})
	if !errors.Is(err, stop) || trials != nil {
		t.Error(trials, err)
	}
	if _, err := Try(t.Context(), Options{Changes: []Change{{Name: "x"}}, Run: func(context.Context, Change) (Outcome, error) { return Outcome{}, nil }}); err == nil {
		t.Error("a server that answered nothing is judged")
	}
	if trials, err := Try(t.Context(), Options{}); trials != nil || err != nil {
		t.Error(trials, err)
	}
}

// What a cause predicts is tried first.
func TestChanges(t *testing.T) {
	e := &diagnose.Evidence{Server: diagnose.Server{Language: "go", CPUs: 4, Procs: 8, Quota: 0.5, GoMemoryLimit: 1 << 30}}
	list := Changes(e, []diagnose.Cause{{ID: "gomaxprocs-quota"}}, Can{Start: true})
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	if want := []string{"GOMAXPROCS=1", "GOGC=400", "GOMEMLIMIT=2147483648", "pinned to one CPU"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for _, c := range Changes(e, nil, Can{}) { // a server that runs already
		if len(c.Env) > 0 || c.CPUs > 0 {
			t.Errorf("%+v", c)
		}
	}
}

// Huge pages are tried the other way round, and large answers in gzip.
func TestChangesOfPagesAndBodies(t *testing.T) {
	large := []diagnose.Load{{Name: diagnose.Knee, Answer: 64 << 10}}
	for _, c := range []struct {
		name   string
		server diagnose.Server
		can    Can
		want   []string
	}{
		{"go, always", diagnose.Server{Language: "go", HugePages: "always", GOGC: 400, Settings: map[string]string{"GODEBUG": "x=1"}}, Can{Start: true}, []string{"GODEBUG=x=1,disablethp=1"}},
		{"go, madvise", diagnose.Server{Language: "go", HugePages: "madvise", GOGC: 400}, Can{Start: true}, nil},
		{"nginx, madvise", diagnose.Server{Language: "nginx", HugePages: "madvise"}, Can{Start: true}, []string{"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"}},
		{"running", diagnose.Server{Language: "nginx", HugePages: "madvise"}, Can{Ask: true}, []string{"Accept-Encoding: gzip"}},
	} {
		var got []string
		for _, x := range Changes(&diagnose.Evidence{Server: c.server, Loads: large}, nil, c.can) {
			for _, e := range x.Env {
				if !strings.HasPrefix(e, "GOGC=") {
					got = append(got, e)
				}
			}
			if x.Header != "" {
				got = append(got, x.Header)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
