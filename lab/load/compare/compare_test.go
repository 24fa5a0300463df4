package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// how describes a generated run.
type how struct {
	ended   bool // the server did, during the run
	seed    uint64
	slices  int
	slower  float64 // factor of the latencies; 0: 1
	dearer  float64 // factor of the CPU; 0: 1
	errors  uint64  // per slice
	blind   bool    // no figures of the server
	silent  bool    // no answers
	warm    int     // slices of warm-up
	memory  uint64  // resident; 0: 20 MiB
	stopped bool    // some slices have no answers
}

// runOf generates a run with 500 requests in each slice of 200 ms.
func runOf(t *testing.T, h how) *present.Document {
	t.Helper()
	rng := rand.New(rand.NewPCG(h.seed, 1))
	all := hdrhistogram.New(1, int64(time.Hour), 3)
	d := &present.Document{
		URL: "http://127.0.0.1:8080/x", Valid: true, Errors: map[string]uint64{}, Machine: results.Machine{CPU: "c", CPUs: 2},
		Config: present.Config{Method: "GET", Status: 200, Connections: 8, Pipeline: 1, DurationSeconds: 10},
	}
	if !h.blind {
		d.Server = &present.Server{CPUs: 1}
	}
	slower, dearer, cpu := max(h.slower, 1), max(h.dearer, 1), 0.0
	for i := -h.warm; i < h.slices; i++ {
		p := present.Point{Sample: results.Sample{T: 0.2 * float64(i+1), Errors: h.errors}}
		n := 500 + rng.IntN(20)
		if h.silent || h.stopped && i%10 == 3 {
			n = 0
		}
		var heat [results.HeatBuckets]uint64
		for range n {
			latency := time.Duration(slower * 200e3 * math.Exp(0.5*rng.NormFloat64()))
			heat[results.HeatBucket(latency)]++
			if i >= 0 {
				_ = all.RecordValue(int64(latency)) // within an hour
			}
		}
		for b, n := range heat {
			if n > 0 {
				p.Heat = append(p.Heat, [2]uint64{uint64(b), n})
			}
		}
		p.Rate = float64(n) / 0.2
		if !h.blind {
			p.ServerCPU = dearer * p.Rate * 100e-6 * (1 + 0.05*rng.NormFloat64())
			p.RSSBytes = max(h.memory, 20<<20) + uint64(rng.IntN(1<<16))
		}
		if i >= 0 {
			d.Requests += uint64(n)
			cpu += 0.2 * p.ServerCPU
			if h.errors > 0 {
				d.Errors["reset"] += h.errors
			}
		}
		d.Series = append(d.Series, p)
	}
	d.Seconds = 0.2 * float64(h.slices)
	d.RequestsPerSecond = float64(d.Requests) / d.Seconds
	if d.Server != nil && d.Requests > 0 {
		d.Server.CPU.PerRequestUs = 1e6 * cpu / float64(d.Requests)
	}
	var err error
	if d.Latency, err = results.NewLatency(all); err != nil {
		t.Fatal(err)
	}
	if h.ended {
		d.Server.Ended, d.Server.CPU.PerRequestUs = []int{7}, 0
	}
	return d
}

func verdicts(c *Comparison) map[string]string {
	out := map[string]string{}
	for _, m := range c.Metrics {
		out[m.Name] = m.Verdict
	}
	return out
}

func TestCompare(t *testing.T) {
	all := func(verdict string, but map[string]string) map[string]string {
		out := map[string]string{}
		for _, m := range metrics(standard) {
			if out[m.name] = verdict; but[m.name] != "" {
				out[m.name] = but[m.name]
			}
		}
		return out
	}
	times := func(verdict string) map[string]string {
		return map[string]string{"p50": verdict, "p90": verdict, "p95": verdict, "p99": verdict}
	}
	unseen := map[string]string{"cpu": Unknown, "rss": Unknown}
	for _, c := range []struct {
		name string
		a, b how
		want map[string]string
	}{
		{"the same run", how{seed: 1, slices: 50}, how{seed: 1, slices: 50}, all(None, nil)},
		{"two runs of the same", how{seed: 1, slices: 100, warm: 10}, how{seed: 2, slices: 120, warm: 3}, all(None, nil)},
		{"a slower one", how{seed: 1, slices: 100}, how{seed: 2, slices: 100, slower: 1.25}, all(None, times(Worse))},
		{"a faster one", how{seed: 1, slices: 100, slower: 1.25}, how{seed: 2, slices: 100}, all(None, times(Better))},
		{"a dearer one", how{seed: 1, slices: 100}, how{seed: 2, slices: 100, dearer: 1.3, memory: 30 << 20}, all(None, map[string]string{"cpu": Worse, "rss": Worse})},
		{"a change of one percent", how{seed: 1, slices: 400}, how{seed: 2, slices: 400, dearer: 1.01}, all(None, nil)},
		{"errors", how{seed: 1, slices: 50}, how{seed: 2, slices: 50, errors: 3}, all(None, map[string]string{"errors": Worse})},
		{"no more errors", how{seed: 1, slices: 50, errors: 3}, how{seed: 2, slices: 50}, all(None, map[string]string{"errors": Better})},
		{"servers unseen", how{seed: 1, slices: 50, blind: true}, how{seed: 2, slices: 50}, all(None, unseen)},
		{"a server that ended", how{seed: 1, slices: 50}, how{seed: 2, slices: 50, ended: true}, all(None, unseen)},
		{"too short", how{seed: 1, slices: 10}, how{seed: 2, slices: 100, slower: 3}, all(Short, nil)},
		{"not one answer", how{seed: 1, slices: 50}, how{seed: 2, slices: 50, silent: true}, map[string]string{
			"rate": Unknown, "p50": Unknown, "p90": Unknown, "p95": Unknown, "p99": Unknown, "errors": Unknown, "cpu": Unknown, "rss": None,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Of(runOf(t, c.a), runOf(t, c.b))
			if v := verdicts(got); !reflect.DeepEqual(v, c.want) {
				t.Errorf("verdicts %v, want %v", v, c.want)
			}
			for _, m := range got.Metrics {
				for _, e := range []*results.Estimate{m.Ratio, m.Difference} {
					if e != nil && !(e.Low <= e.Value && e.Value <= e.High) {
						t.Errorf("%s: %+v", m.Name, *e)
					}
				}
			}
			var text bytes.Buffer
			if err := got.Print(&text, screen.Screen{}); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(text.String()) {
				if n := len([]rune(strings.TrimSuffix(l, "\n"))); n > screen.Usual || strings.Contains(l, "NaN") || strings.Contains(l, "Inf") {
					t.Errorf("a line of %d columns: %s", n, l)
				}
			}
			if err := got.Encode(new(bytes.Buffer)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The interval contains the real change, and is not too wide.
func TestCompareInterval(t *testing.T) {
	c := Of(runOf(t, how{seed: 3, slices: 150, stopped: true}), runOf(t, how{seed: 4, slices: 150, slower: 1.2, dearer: 1.1, stopped: true}))
	for name, want := range map[string]float64{"rate": 1, "p50": 1.2, "p90": 1.2, "p95": 1.2, "p99": 1.2, "cpu": 1.1, "rss": 1} {
		m := c.Metric(name)
		if e := m.Ratio; e == nil || !m.Interval || e.Low > want || e.High < want || e.High/e.Low > 1.5 {
			t.Errorf("%s: %+v, want %v within", name, e, want)
		}
	}
	again := Of(runOf(t, how{seed: 3, slices: 150, stopped: true}), runOf(t, how{seed: 4, slices: 150, slower: 1.2, dearer: 1.1, stopped: true}))
	if !reflect.DeepEqual(c, again) {
		t.Error("the same runs have another comparison")
	}
}

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*present.Document)
		want   string
	}{
		"nothing":     {func(*present.Document) {}, ""},
		"host":        {func(d *present.Document) { d.URL = "http://10.0.0.1:9000/x" }, ""},
		"length":      {func(d *present.Document) { d.Config.DurationSeconds = 20 }, ""},
		"path":        {func(d *present.Document) { d.URL = "http://127.0.0.1:8080/y?z=1" }, "URL path: /x, then /y?z=1"},
		"connections": {func(d *present.Document) { d.Config.Connections = 64 }, "connections: 8, then 64"},
		"pipeline":    {func(d *present.Document) { d.Config.Pipeline = 16 }, "pipeline: 1, then 16"},
		"rate":        {func(d *present.Document) { d.Config.Arrivals = "5/s, constant" }, "rate: none, then 5/s, constant"},
		"open loop":   {func(d *present.Document) { d.Open = &results.Open{} }, "what is measured: a closed loop, then an open loop"},
		"subscribers": {func(d *present.Document) { d.Stream = &present.Stream{} }, "what is measured: a closed loop, then subscribers"},
		"scenario":    {func(d *present.Document) { d.Config.Scenario = "shop.yaml" }, "scenario: none, then shop.yaml"},
		"TLS":         {func(d *present.Document) { d.Config.TLS = &present.TLSConfig{} }, "TLS: no, then yes"},
		"checks":      {func(d *present.Document) { d.Config.Checks = []string{"status 200"} }, `checks: none, then ["status 200"]`},
	} {
		a, b := runOf(t, how{slices: 3}), runOf(t, how{slices: 3})
		c.change(b)
		if got := strings.Join(Differences(a, b), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The notes of both runs come first.
func TestNotes(t *testing.T) {
	a, b := runOf(t, how{slices: 30}), runOf(t, how{slices: 30})
	a.Machine.Kernel, b.Partial = "6.1", "interrupted"
	b.Valid, b.Gates = false, []results.Gate{{Name: "steal", Text: "the hypervisor took 9 %"}, {Name: "answers", Passed: true}}
	c := Of(a, b)
	want := []string{"INVALID: run b: the hypervisor took 9 % (gate steal)", "PARTIAL: run b: interrupted", "NOTE: kernel: 6.1, then none"}
	if !slices.Equal(c.Notes, want) || c.Valid() {
		t.Errorf("notes %q, valid %v", c.Notes, c.Valid())
	}
	var text bytes.Buffer
	if err := c.Print(&text, screen.Screen{}); err != nil || !strings.HasPrefix(text.String(), "INVALID: run b: ") {
		t.Errorf("%v, %s", err, text.String())
	}
	b.Valid, b.Partial, b.Gates[0].Disturbance = true, "", true
	if c := Of(a, b); c.Valid() || c.Notes[0] != "DISTURBED: run b: the hypervisor took 9 % (gate steal)" {
		t.Errorf("notes %q, valid %v", c.Notes, c.Valid())
	}
}

func TestLimits(t *testing.T) {
	same := Of(runOf(t, how{seed: 1, slices: 50}), runOf(t, how{seed: 1, slices: 50}))
	worse := Of(runOf(t, how{seed: 1, slices: 100}), runOf(t, how{seed: 2, slices: 100, slower: 1.25, dearer: 1.3, errors: 2}))
	blind := Of(runOf(t, how{seed: 1, slices: 50, blind: true}), runOf(t, how{seed: 2, slices: 50}))
	for _, c := range []struct {
		of         *Comparison
		limits     string
		kept, sure []bool
	}{
		{same, "p99<+10%,cpu<+5%,errors<+0,rate>-3%,p50<+0", []bool{true, true, true, true, true}, []bool{true, true, true, true, false}},
		{worse, "p99<+10%,cpu<+5%,errors<+0,rate>-3%", []bool{false, false, false, true}, []bool{true, true, true, true}},
		{worse, "p99<+40%,cpu<+40%,errors<+5%,p50<+25%", []bool{true, true, true, true}, []bool{true, true, true, false}},
		{worse, "p50>+10%", []bool{true}, []bool{true}},
		{blind, "cpu<+5%,rss<+5%", []bool{false, false}, []bool{false, false}},
	} {
		limits, err := ParseLimits(c.limits)
		if err != nil {
			t.Fatal(err)
		}
		c.of.Limits = nil
		c.of.Judge(limits)
		for i, j := range c.of.Limits {
			// Whether a p50 of +25 % exceeds +25 % depends on chance.
			if j.Kept != c.kept[i] && j.Limit != "p50<+25%" || j.Sure != c.sure[i] {
				t.Errorf("%+v, want kept %v, sure %v", j, c.kept[i], c.sure[i])
			}
		}
		if want := !slices.Contains(c.kept, false); c.of.Kept() != want && !strings.Contains(c.limits, "p50<+25%") {
			t.Errorf("%s: kept %v", c.limits, !want)
		}
	}
}

func TestParseLimits(t *testing.T) {
	for text, want := range map[string]string{
		"p99":         "is not a limit of a change",
		"p100<+1%":    `"p100" is not a metric of a comparison`,
		"p99<10%":     "a change needs a sign",
		"p99<+x%":     `"+x" is not a number`,
		"p99<+10":     "write the change in percent",
		"errors<+1":   "write the change in percent",
		"rate>-Inf%":  "is not a number",
		"p99<+1%,":    `"" is not a limit`,
		"<+1%":        "is not a limit",
		"p99<+1%,a>b": `"a" is not a metric`,
	} {
		if _, err := ParseLimits(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "write METRIC<+PERCENT%") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	list, err := ParseLimits("p99<+10%, errors<+0,rate>-2.5%")
	if err != nil || len(list) != 3 || list[0].Change != 0.1 || list[1].Change != 0 || !list[2].Above || list[2].Change != -0.025 {
		t.Errorf("%+v, %v", list, err)
	}
}

// The JSON is complete, and no list in it is null.
func TestEncode(t *testing.T) {
	c := Of(runOf(t, how{seed: 1, slices: 50}), runOf(t, how{seed: 2, slices: 50}))
	var text bytes.Buffer
	if err := c.Encode(&text); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{`"differences": null`, `"notes": null`, `"limits": null`} {
		if strings.Contains(text.String(), absent) {
			t.Error(absent)
		}
	}
	back := new(Comparison)
	if err := json.Unmarshal(text.Bytes(), back); err != nil || !reflect.DeepEqual(back, c) {
		t.Errorf("%v\n%s", err, text.String())
	}
	if back.Schema != SchemaName || back.A.Slices != 50 || back.A.Block < 2 {
		t.Errorf("%+v", back.A)
	}
}
