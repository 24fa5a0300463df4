package export

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/export/exporttest"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

func target(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse("http://shop:8080/items?token=s3cret")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// options returns the options of --export flags.
func options(t *testing.T, list ...string) Options {
	t.Helper()
	o := Options{Run: `a "run"`, Tool: "1"}
	for _, text := range list {
		out, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Outputs = append(o.Outputs, out)
	}
	return o
}

func opened(t *testing.T, o Options) *Exporter {
	t.Helper()
	e, err := Open(t.Context(), o, target(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// point returns the i-th point of a run of an open loop.
func point(i int) present.Point {
	tick := &spec.Tick{
		T: float64(i) / 5, Seconds: 0.2, Requests: 100, Errors: 3, P50: 1000, P99: 20000, SendLag: 50, Waiting: 2, ServerCPU: 0.5,
		Heat:  [][2]uint64{{3, 10}, {uint64(results.HeatBucket(time.Millisecond)), 80}, {uint64(results.HeatBuckets - 1), 10}, {1 << 40, 1}},
		Kinds: map[string]uint64{"timeout": 1, "status": 2}, BytesIn: 1000, BytesOut: 500,
	}
	p := present.PointOf(tick)
	p.RSSBytes, p.Threads, p.OpenFiles = 1<<20, 7, 70
	return p
}

// document returns the result of such a run.
func document() *present.Document {
	us := func(v float64) *float64 { return &v }
	d := &present.Document{
		RequestsPerSecond: 495, Seconds: 2, Requests: 990, Errors: map[string]uint64{"status": 20}, ErrorRatio: 0.02, BytesIn: 9000, BytesOut: 4500,
		Latency:    results.Latency{Count: 990, MeanUs: 1500, P50: us(1000), P99: us(20000), MaxUs: 30000},
		Open:       &results.Open{TargetRate: 500, Unfinished: 4},
		Gates:      []results.Gate{{Name: "answers", Passed: true}, {Name: "send lag", Passed: true}, {Name: "send lag"}},
		Thresholds: []objective.Judged{{Objective: "p99<10ms"}, {Objective: "p99<10ms"}, {Objective: "errors<5%", Kept: true}},
		Server:     &present.Server{PIDs: []int{1}, CPUs: 2, CPU: results.CPU{Utilisation: 0.25}, Memory: results.Memory{RSSFinalBytes: 2 << 20, RSSPeakBytes: 3 << 20}},
		Targets:    []results.Target{{Name: "pay, later=1", Requests: 90, Errors: 1, Checks: map[string]uint64{"paid": 2}, Latency: results.Latency{P50: us(3000)}}},
		Config:     present.Config{Connections: 64},
	}
	d.Generator.CPUUtilisation, d.Connects.Made = 0.125, 65
	return d
}

// live has the exported values after ten points in the window.
var live = map[string]float64{
	"redline_requests_total": 1000, `redline_errors_total{error_type="timeout"}`: 10, `redline_errors_total{error_type="status"}`: 20,
	"redline_received_bytes_total": 10000, "redline_sent_bytes_total": 5000,
}

var liveGauges = map[string]float64{
	"redline_window": 1, "redline_rate_achieved_per_second": 500, "redline_rate_asked_per_second": 500, "redline_connections": 64,
	`redline_latency_quantile_seconds{quantile="0.5"}`: 0.001, `redline_latency_quantile_seconds{quantile="0.99"}`: 0.02,
	`redline_send_lag_quantile_seconds{quantile="0.99"}`: 50e-6, "redline_waiting": 2,
	"redline_server_cpu": 0.5, "redline_server_memory_bytes": 1 << 20, "redline_server_threads": 7, "redline_server_open_files": 70,
}

var liveBuckets = map[string]float64{
	`redline_latency_seconds_bucket{le="1.6e-05"}`: 100, `redline_latency_seconds_bucket{le="0.001024"}`: 900,
	`redline_latency_seconds_bucket{le="67.108864"}`: 900, `redline_latency_seconds_bucket{le="+Inf"}`: 1000, "redline_latency_seconds_count": 1000,
}

// result has the exported values of the document.
var result = map[string]float64{
	"redline_window": 0, "redline_result_valid": 0, `redline_result_gate{gate="answers"}`: 1, `redline_result_gate{gate="send lag"}`: 0,
	`redline_result_threshold{threshold="p99<10ms"}`: 0, `redline_result_threshold{threshold="errors<5%"}`: 1,
	"redline_result_window_seconds": 2, "redline_result_requests": 990, `redline_result_errors{error_type="status"}`: 20,
	"redline_result_error_ratio": 0.02, "redline_result_unanswered": 4, "redline_result_rate_achieved_per_second": 495, "redline_result_rate_asked_per_second": 500,
	`redline_result_latency_quantile_seconds{quantile="0.5"}`: 0.001, `redline_result_latency_quantile_seconds{quantile="0.99"}`: 0.02,
	"redline_result_latency_mean_seconds": 0.0015, "redline_result_latency_max_seconds": 0.03,
	"redline_result_received_bytes": 9000, "redline_result_sent_bytes": 4500, "redline_result_connections": 65,
	"redline_result_generator_cpu_ratio": 0.125, "redline_result_server_cpu": 0.5,
	"redline_result_server_memory_bytes": 2 << 20, "redline_result_server_memory_peak_bytes": 3 << 20,
	`redline_result_target_requests{request="pay, later=1"}`: 90, `redline_result_target_errors{request="pay, later=1"}`: 3,
	`redline_result_target_latency_quantile_seconds{quantile="0.5",request="pay, later=1"}`: 0.003,
}

// compare reports values that differ from the exported ones.
func compare(t *testing.T, where string, got map[string]float64, want ...map[string]float64) {
	t.Helper()
	for _, m := range want {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if v, is := got[k]; !is || v < m[k]*(1-1e-9) || v > m[k]*(1+1e-9) {
				t.Errorf("%s: %s is %v (present: %v), want %v", where, k, v, is, m[k])
			}
		}
	}
}

// play runs a warm-up, and ten points in a window.
func play(e *Exporter, d *present.Document) {
	e.Begin(d, &arrive.Plan{Rate: 500})
	e.Point(point(-1))
	e.Point(point(0))
	e.Window()
	for i := range 10 {
		e.Point(point(i + 1))
	}
}

func TestExport(t *testing.T) {
	into := exporttest.New()
	s := httptest.NewServer(into)
	t.Cleanup(s.Close)
	t.Setenv(influxToken, "s3cret")
	t.Setenv(remoteWriteHeaders, "X-Scope-OrgID=shop%2C1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20s3cret")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	file := filepath.Join(t.TempDir(), "run.lp")
	e := opened(t, options(t, "prometheus=127.0.0.1:0", "remote-write="+strings.Replace(s.URL, "//", "//ann:s3cret@", 1)+"/api/v1/write",
		"otlp="+s.URL, "influxdb="+s.URL+"?org=o&bucket=b", "influxdb="+file))
	metrics := "http://" + e.receivers[0].(*scraped).ln.Addr().String() + "/metrics"
	d := document()
	play(e, d)
	got, err := exporttest.Fetch(metrics)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "scrape", got, live, liveGauges, liveBuckets)
	if err := e.End(t.Context(), d); err != nil || len(d.Notes) > 0 {
		t.Fatal(err, d.Notes)
	}
	if got, err = exporttest.Fetch(metrics); err != nil {
		t.Fatal(err)
	}
	compare(t, "last scrape", got, live, liveBuckets, result)
	if _, is := got["redline_rate_achieved_per_second"]; is {
		t.Error("a gauge of the last point is present in addition to the result")
	}
	if len(into.Errors) > 0 {
		t.Fatal(into.Errors)
	}
	gauges := maps.Clone(liveGauges)
	delete(gauges, "redline_window")
	for _, format := range []string{exporttest.RemoteWrite, exporttest.OTLP} {
		compare(t, format, into.Last(format), live, gauges, liveBuckets, result)
	}
	compare(t, "influxdb", into.Last(exporttest.InfluxDB), live, gauges, result)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]float64{}
	if err := exporttest.ReadInflux(string(text), written); err != nil {
		t.Fatal(err)
	}
	compare(t, "file", written, live, gauges, result)
	if n := into.Samples("redline_rate_achieved_per_second"); n != 12 {
		t.Errorf("%d samples of 12 points", n)
	}
	for format, want := range map[string]string{exporttest.RemoteWrite: "Basic YW5uOnMzY3JldA==", exporttest.OTLP: "Bearer s3cret", exporttest.InfluxDB: "Token s3cret"} {
		if got := into.Headers[format].Get("Authorization"); got != want {
			t.Errorf("%s: authorization %q, want %q", format, got, want)
		}
	}
	if got := into.Headers[exporttest.RemoteWrite].Get("X-Scope-OrgID"); got != "shop,1" {
		t.Errorf("header %q", got)
	}
	if got := into.Queries[exporttest.InfluxDB]; got != "bucket=b&org=o&precision=ns" {
		t.Errorf("query %q", got)
	}
	if strings.Contains(string(text), "s3cret") {
		t.Error("the URL's token is exported")
	}
}

// Counters continue in a second run; streams have their own counters.
func TestExportAgain(t *testing.T) {
	e := opened(t, options(t, "prometheus=127.0.0.1:0"))
	metrics := "http://" + e.receivers[0].(*scraped).ln.Addr().String() + "/metrics"
	d := &present.Document{Stream: &present.Stream{}}
	for range 2 {
		e.Begin(d, nil)
		e.Window()
		e.Point(present.PointOf(&spec.Tick{T: 1, Seconds: 1, Requests: 4, Listen: &spec.Heard{Standing: 3, GapP99: 5e6, Missed: 2, Duplicated: 1, Reconnects: 6}}))
	}
	got, err := exporttest.Fetch(metrics)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "streams", got, map[string]float64{
		"redline_requests_total": 8, "redline_subscribers": 3, `redline_gap_quantile_seconds{quantile="0.99"}`: 5,
		"redline_events_missed_total": 4, "redline_events_duplicated_total": 2, "redline_reconnects_total": 12,
	})
	if _, is := got[`redline_latency_quantile_seconds{quantile="0.5"}`]; is {
		t.Error("a quantile of no latencies")
	}
}

// An absent receiver is an error before the load.
func TestOpenNobody(t *testing.T) {
	const nobody = "http://127.0.0.1:1"
	busy := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(busy.Close)
	addr := strings.TrimPrefix(busy.URL, "http://")
	for out, want := range map[string]string{
		"remote-write=" + nobody: "connection refused", "otlp=" + nobody: "/v1/metrics: ", "influxdb=" + nobody + "?db=x": "connection refused",
		"prometheus=" + addr: "address already in use", "otlp=" + busy.URL: "refused: the answer has status 404: 404 page not found",
	} {
		o := options(t, out)
		if e, err := Open(t.Context(), o, target(t)); e != nil || err == nil || !strings.HasPrefix(err.Error(), "--export ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", out, err)
		}
		o.Optional = true
		e, err := Open(t.Context(), o, target(t))
		if err != nil {
			t.Fatal(err)
		}
		d := document()
		play(e, d)
		if err := e.End(t.Context(), d); err != nil || len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], "nothing was exported to ") {
			t.Errorf("%s: %v, %q", out, err, d.Notes)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// quick shortens the waits of a queue.
func quick(e *Exporter) {
	for _, r := range e.receivers {
		if q, is := r.(*queue); is {
			q.patience = 200 * time.Millisecond
		}
	}
}

// If a receiver fails during the run, its points are lost, and a note reports it; errors with its
// answers contain no secrets.
func TestReceiverDies(t *testing.T) {
	var dead atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			http.Error(w, "no "+r.Header.Get("Authorization")+"\x1b[2J", http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv(influxToken, "s3cret")
	for _, c := range []struct {
		optional, interrupted bool
		want                  string
	}{{false, false, "export the result to influxdb="}, {true, false, ""}, {false, true, ""}} {
		o := options(t, "influxdb="+strings.Replace(s.URL, "//", "//ann:hush@", 1)+"?db=x")
		o.Optional = c.optional
		dead.Store(false)
		e := opened(t, o)
		dead.Store(true)
		d := document()
		play(e, d)
		ctx, stop := context.WithCancel(t.Context())
		if c.interrupted {
			stop()
		}
		err := e.End(ctx, d)
		stop()
		said := strings.Join(d.Notes, "\n")
		if err != nil {
			said += err.Error()
		}
		if (err != nil) != (c.want != "") || !strings.Contains(said, c.want) || !strings.Contains(said, "12 points were not exported to influxdb=http://") {
			t.Errorf("%+v: %v, %q", c, err, d.Notes)
		}
		if strings.Contains(said, "s3cret") || strings.Contains(said, "hush") || strings.Contains(said, "\x1b") || !strings.Contains(said, "REDACTED") {
			t.Errorf("the message is %q", said)
		}
	}
}

// A slow receiver blocks nothing: points that exceed the queue are lost.
func TestReceiverSlow(t *testing.T) {
	release := make(chan struct{})
	var came atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if came.Add(1) == 1 {
			return
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	e := opened(t, options(t, "otlp="+s.URL))
	quick(e)
	d := document()
	e.Begin(d, nil)
	const points = queueRoom + batchMost + 100
	for i := range points {
		e.Point(point(i + 1)) // must not block
	}
	err := e.End(t.Context(), d)
	if err == nil || !strings.Contains(err.Error(), "not within 200ms") {
		t.Error(err)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "676 points were not exported") || !strings.Contains(d.Notes[0], errSlow.Error()) {
		t.Errorf("%q", d.Notes)
	}
}

// The wait for a last scrape ends with the scrape, or with the caller's timeout.
func TestLinger(t *testing.T) {
	e := opened(t, options(t, "prometheus=127.0.0.1:0"))
	s := e.receivers[0].(*scraped)
	e.Linger(t.Context(), time.Hour) // no result to wait for
	if err := e.End(t.Context(), document()); err != nil {
		t.Fatal(err)
	}
	e.Linger(t.Context(), time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Linger(ctx, time.Hour)
	if _, err := exporttest.Fetch("http://" + s.ln.Addr().String() + "/metrics"); err != nil {
		t.Fatal(err)
	}
	e.Linger(t.Context(), time.Hour)
}

// The methods of a nil Exporter do nothing.
func TestExporterNil(t *testing.T) {
	e, err := Open(t.Context(), Options{}, target(t))
	if e != nil || err != nil {
		t.Fatal(e, err)
	}
	e.Begin(nil, nil)
	e.Window()
	e.Point(present.Point{})
	e.Linger(t.Context(), time.Hour)
	if err := e.End(t.Context(), document()); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Two snapshots never have the same time: receivers would reject them.
func TestTimes(t *testing.T) {
	e := &Exporter{}
	now := time.Now()
	for range 3 {
		if at := e.after(now); !at.After(now.Add(-epsilon)) {
			t.Errorf("%v before %v", at, now)
		}
	}
	if want := now.Add(2 * epsilon); !e.at.Equal(want) {
		t.Errorf("%v, want %v", e.at, want)
	}
}
