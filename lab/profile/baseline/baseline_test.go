package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/profiletest"
	"github.com/redline-go/redline/lab/profile/tree"
)

// window is a profile of a server that spends so many nanoseconds for 1,000 requests in two
// functions, with a little noise.
func window(t *testing.T, rng *rand.Rand, parse, order, requests float64) Window {
	t.Helper()
	noisy := func(v float64) int64 { return int64(1e6 * v * (1 + 0.03*rng.NormFloat64())) }
	p := profiletest.Of("cpu", "nanoseconds", fmt.Sprintf("main.serve;encoding/json.parse %d\nmain.serve;main.order %d\nmain.serve;main.same %d\n",
		noisy(parse), noisy(order), noisy(50)))
	profile.Window{Seconds: 2, Requests: requests}.Mark(p)
	s, err := tree.Read(p, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	return Window{Kind: "cpu", Samples: s}
}

// vector is a measurement of n windows.
func vector(t *testing.T, seed uint64, n int, parse, order, requests float64) *Vector {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var list []Window
	for range n {
		list = append(list, window(t, rng, parse, order, requests))
	}
	metrics, err := Measure(list)
	if err != nil {
		t.Fatal(err)
	}
	return &Vector{Schema: SchemaName, Version: SchemaVersion, Metrics: metrics}
}

func TestMeasure(t *testing.T) {
	m := vector(t, 1, 8, 30, 20, 1000).Metrics["cpu"]
	f := m.Functions["encoding/json.parse"]
	if !m.Each || m.Windows != 8 || m.Unit != "nanoseconds" || len(m.Rate) != 8 || m.Rate[0] != 500 || m.Total == nil || f == nil {
		t.Fatalf("%+v", m)
	}
	if x := f.Flat; x.Low > 30_000 || x.High < 30_000 || x.Low < 27_000 || x.High > 33_000 || x.Value < x.Low || x.Value > x.High || len(x.Windows) != 8 {
		t.Errorf("%+v", x)
	}
	if x := f.CumShare; x.Value < 0.27 || x.Value > 0.33 {
		t.Errorf("%+v", x)
	}
	if p := m.Purposes["json"]; p == nil || p.Flat.Value != f.Flat.Value {
		t.Errorf("%+v", p)
	}
	shares := vector(t, 1, 8, 30, 20, 0).Metrics["cpu"]
	if shares.Each || shares.Total != nil || shares.Functions["main.order"].Flat != nil {
		t.Errorf("%+v", shares)
	}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		requests, parse, order float64
		windows                int
		moved                  []string // with a sign
		worse                  bool
	}{
		"the same":      {1000, 30, 20, 8, nil, false},
		"more parsing":  {1000, 45, 20, 8, []string{"+encoding/json.parse", "+json", "+main.serve"}, true},
		"less parsing":  {1000, 20, 20, 8, []string{"-encoding/json.parse", "-json", "-main.serve"}, false},
		"a little":      {1000, 30, 22, 8, []string{"+main.order"}, false}, // 2 % of the total
		"of shares":     {0, 60, 20, 8, []string{"+encoding/json.parse", "+json"}, true},
		"too few":       {1000, 45, 20, 3, nil, false},
		"a new one too": {1000, 30, 40, 8, []string{"+main.order", "+main.serve"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := vector(t, 1, c.windows, 30, 20, c.requests), vector(t, 2, c.windows, c.parse, c.order, c.requests)
			got, err := Compare(before, after, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			part := got.Parts[0]
			has := func(want string) bool {
				return slices.ContainsFunc(part.Changes, func(c Change) bool {
					return c.Name == want[1:] && (c.By > 0) == (want[0] == '+') && c.Low <= c.By && c.By <= c.High
				})
			}
			for _, want := range c.moved {
				if !has(want) {
					t.Errorf("%s did not move: %+v", want, part.Changes)
				}
			}
			if c.moved == nil && len(part.Changes) > 0 || got.Worse() != c.worse {
				t.Errorf("worse %v: %+v", got.Worse(), part)
			}
			if (part.Doubt != "") != (c.windows == 3) || part.Each != (c.requests > 0) || part.Each != (part.Total != nil) {
				t.Errorf("doubt %q, total %+v", part.Doubt, part.Total)
			}
		})
	}
}

// Measurements of the same server hardly ever give a regression.
func TestCompareFalseAlarms(t *testing.T) {
	alarms, moved := 0, 0
	for i := range uint64(100) {
		c, err := Compare(vector(t, 2*i+1, 8, 30, 20, 1000), vector(t, 2*i+2, 8, 30, 20, 1000), 0)
		if err != nil {
			t.Fatal(err)
		}
		if c.Worse() {
			alarms++
		}
		if len(c.Parts[0].Changes) > 0 {
			moved++
		}
	}
	if alarms > 12 || moved > 15 {
		t.Errorf("of 100 comparisons of the same, %d found a regression, and %d a movement", alarms, moved)
	}
}

func TestCompareRefused(t *testing.T) {
	a, b := vector(t, 1, 4, 30, 20, 1000), vector(t, 2, 4, 30, 20, 1000)
	b.Metrics["cpu"].Unit = "count"
	if _, err := Compare(a, b, 0); err == nil || !strings.Contains(err.Error(), "save it anew") {
		t.Errorf("%v", err)
	}
	b.Metrics = map[string]*Metric{"heap": b.Metrics["cpu"]}
	if _, err := Compare(a, b, 0); !errors.Is(err, errNothing) {
		t.Errorf("%v", err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	one, two := window(t, rng, 1, 1, 1), window(t, rng, 1, 1, 1)
	two.Samples.Type = "other"
	if _, err := Measure([]Window{one, two}); !errors.Is(err, ErrUneven) {
		t.Errorf("%v", err)
	}
	if _, err := Measure(slices.Repeat([]Window{one}, MaxWindows+1)); err == nil {
		t.Error("too many windows")
	}
	one.Samples.Total = 0
	if _, err := Measure([]Window{one}); err == nil || !strings.Contains(err.Error(), "no samples") {
		t.Errorf("%v", err)
	}
}

func TestMeasureLarge(t *testing.T) {
	var text strings.Builder
	for i := range 3 * mostFunctions {
		fmt.Fprintf(&text, "main.f%d 1\n", i)
	}
	s, err := tree.Read(profiletest.Of("cpu", "nanoseconds", text.String()), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := Measure([]Window{{Kind: "cpu", Samples: s}})
	if err != nil || len(metrics["cpu"].Functions) > mostFunctions {
		t.Errorf("%v, %d functions", err, len(metrics["cpu"].Functions))
	}
}

func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "baselines")
	if names, err := List(dir); err != nil || names != nil {
		t.Errorf("%v, %v", names, err)
	}
	want := vector(t, 1, 4, 30, 20, 1000)
	for _, name := range []string{"main", "a-branch.2"} {
		if _, err := Save(dir, name, want); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := List(dir); err != nil || !slices.Equal(names, []string{"a-branch.2", "main"}) {
		t.Errorf("%v, %v", names, err)
	}
	got, err := Load(dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(want)
	y, _ := json.Marshal(got)
	if !bytes.Equal(x, y) {
		t.Error("the file differs from what was saved")
	}
	if err := Remove(dir, "main"); err != nil {
		t.Error(err)
	}
	if _, err := Load(dir, "main"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if err := Remove(dir, "main"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	for _, name := range []string{"", "../main", "a/b", ".hidden", strings.Repeat("x", 101), "a b"} {
		if _, err := Save(dir, name, want); err == nil {
			t.Errorf("%q was saved", name)
		}
		if _, err := Load(dir, name); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", name, err)
		}
		if err := Remove(dir, name); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A damaged file is an error, not a wrong comparison.
func TestParseDamaged(t *testing.T) {
	for name, damage := range map[string]func(*Vector){
		"schema":          func(v *Vector) { v.Schema = "other" },
		"version":         func(v *Vector) { v.Version = 2 },
		"no metric":       func(v *Vector) { v.Metrics["cpu"] = nil },
		"windows":         func(v *Vector) { v.Metrics["cpu"].Windows = 5 },
		"no total":        func(v *Vector) { v.Metrics["cpu"].Total = nil },
		"no function":     func(v *Vector) { v.Metrics["cpu"].Functions["main.order"] = nil },
		"no cost":         func(v *Vector) { v.Metrics["cpu"].Functions["main.order"].Flat = nil },
		"short":           func(v *Vector) { v.Metrics["cpu"].Purposes["json"].CumShare.Windows = nil },
		"total too short": func(v *Vector) { v.Metrics["cpu"].Total.Windows = []float64{1} },
	} {
		v := vector(t, 1, 4, 30, 20, 1000)
		damage(v)
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzParse has no file that makes a comparison panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema":"redline.baseline","version":1,"metrics":{"cpu":{"value":"cpu","unit":"nanoseconds","windows":1,` +
		`"functions":{"main.f":{"flat_share":{"value":1,"low":1,"high":1,"windows":[1]},"cum_share":{"value":1,"low":1,"high":1,"windows":[1]}}},"purposes":{}}}}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		v, err := Parse(text)
		if err != nil {
			return
		}
		_, _ = Compare(v, v, 0.05) // only a panic is wrong
	})
}
