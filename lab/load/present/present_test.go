package present

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// encoded returns a histogram of n values in nanoseconds.
func encoded(t *testing.T, n int, value func(i int) int64) string {
	t.Helper()
	h := hdrhistogram.New(1, 3600e9, 3)
	for i := range n {
		if err := h.RecordValue(value(i)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// closedRun returns a valid run of a closed loop.
func closedRun(t *testing.T) (*Document, *spec.Result) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := &Document{
		Tool: "v1", Started: at, Ended: at.Add(12 * time.Second), URL: "http://127.0.0.1:8080/hello", Series: []Point{},
		Config: Config{
			Method: "GET", Headers: 80, Status: 200, Connections: 64, Pipeline: 1,
			DurationSeconds: 10, WarmupSeconds: 2, TimeoutSeconds: 10, CPUs: []int{1},
		},
		Server: &Server{
			PIDs: []int{1234}, CPUs: 2, Memory: results.Memory{RSSPeakBytes: 20 << 20, RSSFinalBytes: 18 << 20},
			Process: results.Process{Threads: 9, OpenFiles: 72},
		},
	}
	return d, &spec.Result{
		Seconds: 10, Requests: 20_000, Errors: map[string]uint64{}, BytesIn: 3_000_000, BytesOut: 2_000_000,
		Histogram: encoded(t, 20_000, func(i int) int64 { return 100_000 + int64(i)*50 }),
		Connects:  64, Connect: encoded(t, 64, func(i int) int64 { return 40_000 + int64(i)*1000 }),
		FirstByte: encoded(t, 20_000, func(i int) int64 { return 100_000 + int64(i)*49 }),
		InFlight:  63.25, InFlightMax: 64, GeneratorCPU: 3, ServerUser: 3, ServerSys: 2, ServerCPU: 5, WarmupSeconds: 2, Steady: true,
	}
}

// openRun returns a valid run of an open loop.
func openRun(t *testing.T) (*Document, *spec.Result) {
	d, r := closedRun(t)
	d.Config.Arrivals = "2000/s, poisson"
	fast := func(i int) int64 { return 1000 + int64(i) }
	r.Open = &spec.Open{
		Due: 20_000, Sent: 19_990, Waited: 4,
		Service: encoded(t, 20_000, func(i int) int64 { return 90_000 + int64(i)*50 }),
		Lag:     encoded(t, 20_000, fast), Pacing: encoded(t, 20_000, fast),
	}
	return d, r
}

func fill(t *testing.T, d *Document, r *spec.Result, thresholds string) *Document {
	t.Helper()
	var list []objective.Objective
	if thresholds != "" {
		var err error
		if list, err = objective.Parse(thresholds); err != nil {
			t.Fatal(err)
		}
	}
	target := 0.0
	if r.Open != nil {
		target = 2000
	}
	if err := d.Fill(r, target, list); err != nil {
		t.Fatal(err)
	}
	return d
}

func summaryOf(t *testing.T, d *Document) string {
	t.Helper()
	var b strings.Builder
	if err := Summary(&b, d, screen.Screen{}); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(l, "\n"))); n > screen.Usual {
			t.Errorf("a line of %d columns: %s", n, l)
		}
	}
	for _, on := range []screen.Screen{{Width: 48, Color: true}, {Width: 80}, {Width: 140, Color: true}} {
		var shown strings.Builder
		if err := Summary(&shown, d, on); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(shown.String()) {
			if n := screen.Width(strings.TrimSuffix(l, "\n")); n > on.Columns() {
				t.Errorf("a line of %d columns on %+v: %q", n, on, l)
			}
		}
		if has := strings.Contains(shown.String(), "\x1b["); has && !on.Color {
			t.Errorf("escape sequences on %+v", on)
		}
	}
	return b.String()
}

func TestSummary(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		d, r := closedRun(t)
		golden(t, "closed.txt", summaryOf(t, fill(t, d, r, "p99<2ms,p50<100us")))
	})
	t.Run("open", func(t *testing.T) {
		d, r := openRun(t)
		golden(t, "open.txt", summaryOf(t, fill(t, d, r, "")))
	})
	t.Run("invalid", func(t *testing.T) {
		d, r := openRun(t)
		d.Partial = "interrupted after 4.0 s of 10s"
		r.Errors, r.Open.Sent, r.Open.Unfinished, r.Open.Failed = map[string]uint64{"reset": 3, "status": 10}, 15_000, 7, 13
		r.GeneratorCPU = 9
		d.Server = nil
		text := summaryOf(t, fill(t, d, r, ""))
		golden(t, "invalid.txt", text)
		if !strings.HasPrefix(text, "INVALID: ") {
			t.Error("the failed gate is not the first line")
		}
	})
	t.Run("search", func(t *testing.T) {
		d, r := openRun(t)
		d.Search = &objective.Found{Rate: 2000, Text: "2000/s: kept there, and broken at 2090/s (4 % higher)"}
		golden(t, "search.txt", summaryOf(t, fill(t, d, r, "p99<2ms")))
	})
	t.Run("nothing", func(t *testing.T) {
		d, r := closedRun(t)
		r.Requests, r.Histogram = 0, encoded(t, 0, nil)
		text := summaryOf(t, fill(t, d, r, ""))
		if !strings.HasPrefix(text, "INVALID: no answers") || strings.Contains(text, "NaN") {
			t.Error(text)
		}
	})
}

// Control characters of a URL do not reach the terminal.
func TestSummaryIsHarmless(t *testing.T) {
	d, r := closedRun(t)
	d.URL = "http://127.0.0.1/\x1b[2J"
	if text := summaryOf(t, fill(t, d, r, "")); strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}

// failed lists the gates that did not pass.
func failed(d *Document) (names []string) {
	for _, g := range d.Failed() {
		names = append(names, g.Name)
	}
	return names
}

func TestGates(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*Document, *spec.Result)
		open       bool
		thresholds string
		want       []string
	}{
		"well":                  {change: func(*Document, *spec.Result) {}},
		"well, open":            {open: true, change: func(*Document, *spec.Result) {}},
		"errors":                {change: func(_ *Document, r *spec.Result) { r.Errors["reset"] = 1 }, want: []string{"errors"}},
		"accepted errors":       {change: func(_ *Document, r *spec.Result) { r.Errors["reset"] = 1 }, thresholds: "errors<1%"},
		"trend":                 {change: func(_ *Document, r *spec.Result) { r.Steady = false }, want: []string{"steady"}},
		"trend without warm-up": {change: func(d *Document, r *spec.Result) { r.Steady, d.Config.WarmupSeconds = false, 0 }},
		"full":                  {change: func(_ *Document, r *spec.Result) { r.GeneratorCPU = 9.9 }, want: []string{"generator"}},
		"both full":             {change: func(_ *Document, r *spec.Result) { r.GeneratorCPU, r.ServerCPU = 9.9, 19.5 }},
		"full, server unknown":  {change: func(d *Document, r *spec.Result) { r.GeneratorCPU, d.Server = 9.9, nil }, want: []string{"generator"}},
		"full, open":            {open: true, change: func(_ *Document, r *spec.Result) { r.GeneratorCPU = 8.5 }, want: []string{"generator"}},
		"not sent":              {open: true, change: func(_ *Document, r *spec.Result) { r.Open.Sent = 19_000 }, want: []string{"achieved"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, r := closedRun(t)
			if c.open {
				d, r = openRun(t)
			}
			c.change(d, r)
			fill(t, d, r, c.thresholds)
			if got := failed(d); !slices.Equal(got, c.want) || d.Valid != (len(c.want) == len(d.Disturbed())) {
				t.Errorf("failed %v, valid %v; want %v", got, d.Valid, c.want)
			}
		})
	}
}

// A server that does not keep up is a valid result for a search; a generator that was late is
// not.
func TestBelieved(t *testing.T) {
	late := encoded(t, 20_000, func(int) int64 { return 5_000_000 })
	for name, c := range map[string]struct {
		change         func(*spec.Result)
		believed, kept bool
	}{
		"well":        {func(*spec.Result) {}, true, true},
		"not sent":    {func(r *spec.Result) { r.Open.Sent = 100 }, true, false},
		"waited":      {func(r *spec.Result) { r.Open.Lag = late }, true, true},
		"errors":      {func(r *spec.Result) { r.Errors["reset"] = 1 }, true, false},
		"late itself": {func(r *spec.Result) { r.Open.Lag, r.Open.Pacing = late, late }, false, true},
		"busy":        {func(r *spec.Result) { r.GeneratorCPU = 9 }, false, true},
	} {
		d, r := openRun(t)
		c.change(r)
		fill(t, d, r, "")
		believed, _ := d.Believed()
		if kept, _ := d.KeptUp(); believed != c.believed || kept != c.kept {
			t.Errorf("%s: believed %v, kept up %v", name, believed, kept)
		}
	}
}

// An arrival without an answer counts as an error in the error share.
func TestUnfinishedIsAnError(t *testing.T) {
	d, r := openRun(t)
	r.Open.Unfinished, r.Open.Failed, r.Errors = 100, 50, map[string]uint64{"timeout": 20}
	fill(t, d, r, "errors<1")
	if f := d.Figures(); f.Errors != 150 || f.Answered != 19_900 {
		t.Errorf("%d errors, %d answered", f.Errors, f.Answered)
	}
	if d.Kept() {
		t.Error("the threshold was kept")
	}
}

func TestCSV(t *testing.T) {
	var b strings.Builder
	series := []Point{
		PointOf(&spec.Tick{T: -0.2, Seconds: 0.2, Requests: 10, P50: 80.5, P99: 120}),
		PointOf(&spec.Tick{T: 0.2, Seconds: 0.2, Requests: 20, Errors: 1, P50: 90, P95: 120, P99: 130, SendLag: 3.5, Waiting: 2, InFlight: 1.5, InFlightMax: 3, ServerCPU: 0.75}),
	}
	series[1].RSSBytes, series[1].Threads, series[1].OpenFiles = 1<<20, 5, 70
	if err := CSV(&b, series); err != nil {
		t.Fatal(err)
	}
	golden(t, "series.csv", b.String())
}

// An HdrHistogram log is read back with the library's own reader. The latency has no tag: by
// default, readers ignore lines with a tag.
func TestHDR(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*testing.T) (*Document, *spec.Result)
		tags []string
	}{
		{"closed loop", closedRun, []string{""}},
		{"open loop", openRun, []string{"", "Tag=service,", "Tag=send-lag,"}},
		{"stream", streamRun, []string{"", "Tag=gap,", "Tag=read-lag,"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, r := c.run(t)
			fill(t, d, r, "")
			var b bytes.Buffer
			if err := HDR(&b, d); err != nil {
				t.Fatal(err)
			}
			var tags []string
			for l := range strings.Lines(b.String()) {
				if strings.HasPrefix(l, "#") || strings.HasPrefix(l, "\"") {
					continue
				}
				m := regexp.MustCompile(`^(Tag=[a-z-]+,)?0\.000,10\.000,\d+\.\d{3},(HIST[A-Za-z0-9+/=]+)\n$`).FindStringSubmatch(l)
				if m == nil {
					t.Fatalf("line %.80q", l)
				}
				tags = append(tags, m[1])
				h, err := hdrhistogram.Decode([]byte(m[2]))
				if err != nil || h.TotalCount() < 19_000 {
					t.Errorf("%s: %v, %v", m[1], h, err)
				}
				if m[1] == "" && m[2] != d.Latency.Histogram {
					t.Error("the line without a tag is not that of the latency")
				}
			}
			if !slices.Equal(tags, c.tags) {
				t.Errorf("tags %q, want %q", tags, c.tags)
			}
		})
	}
}

// TestSchemaIsStable compares the fields of the JSON with a list: removing a field or changing
// its type breaks readers.
func TestSchemaIsStable(t *testing.T) {
	var fields []string
	var visit func(prefix string, typ reflect.Type)
	visit = func(prefix string, typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer:
			visit(prefix, typ.Elem())
			return
		case reflect.Slice:
			visit(prefix+"[]", typ.Elem())
			return
		case reflect.Struct:
			if typ != reflect.TypeFor[time.Time]() {
				for i := range typ.NumField() {
					f := typ.Field(i)
					if f.Anonymous {
						visit(prefix, f.Type)
					} else if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
						visit(strings.TrimPrefix(prefix+"."+name, "."), f.Type)
					}
				}
				return
			}
		}
		fields = append(fields, fmt.Sprintf("%s %s", prefix, typ.Kind()))
	}
	visit("", reflect.TypeFor[Document]())
	golden(t, "schema.txt", strings.Join(fields, "\n")+"\n")
}

func TestEncode(t *testing.T) {
	d, r := openRun(t)
	fill(t, d, r, "p99<2ms")
	var b bytes.Buffer
	if err := d.Encode(&b); err != nil {
		t.Fatal(err)
	}
	var back struct {
		RPS     float64         `json:"requests_per_second"`
		Latency results.Latency `json:"latency"`
		Valid   bool            `json:"valid"`
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.RPS != 2000 || !back.Valid || back.Latency.P99 == nil {
		t.Errorf("%+v, %v", back, err)
	}
}

// A point has the planned rate and the generator's CPU use since the previous point.
func TestAskedAndUsed(t *testing.T) {
	d, r := closedRun(t)
	for _, tick := range []spec.Tick{{T: -0.2, Used: 1}, {T: 0, Used: 1.1}, {T: 1, Used: 1.6}, {T: 3, Used: 2.6}, {T: 3, Used: 2.7}, {T: 4}} {
		d.Series = append(d.Series, PointOf(&tick))
	}
	d.Ask(&arrive.Plan{Rate: 100, Stages: []arrive.Stage{{For: 2 * time.Second, Rate: 300}}})
	fill(t, d, r, "")
	cpus := map[int]float64{1: 0.5, 2: 0.5, 3: 0.5}
	for i, want := range []float64{100, 100, 150, 275, 0, 300} {
		p := d.Series[i]
		if math.Abs(p.Asked-want) > 1e-6 {
			t.Errorf("point %d: %v asked for, want %v", i, p.Asked, want)
		}
		switch want, known := cpus[i]; {
		case known != (p.GeneratorCPU != nil):
			t.Errorf("point %d: generator's CPU known: %v", i, !known)
		case known && math.Abs(*p.GeneratorCPU-want) > 1e-9:
			t.Errorf("point %d: generator's CPU %v, want %v", i, *p.GeneratorCPU, want)
		}
	}
	d.Ask(nil)
}
