package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline/lab/load/export/exporttest"
	"github.com/redline-go/redline/lab/load/present"
)

// equal compares the exported figures of a result with its document.
func equal(t *testing.T, where string, got map[string]float64, d *present.Document) {
	t.Helper()
	want := map[string]float64{
		"redline_result_requests": float64(d.Requests), "redline_result_rate_achieved_per_second": d.RequestsPerSecond,
		"redline_result_received_bytes": float64(d.BytesIn), "redline_result_sent_bytes": float64(d.BytesOut),
		"redline_result_window_seconds":      d.Seconds,
		"redline_result_generator_cpu_ratio": d.Generator.CPUUtilisation, "redline_result_connections": float64(d.Connects.Made),
		"redline_result_error_ratio": d.ErrorRatio,
	}
	for kind, n := range d.Errors {
		want[`redline_result_errors{error_type="`+kind+`"}`] = float64(n)
	}
	if d.Latency.Count > 0 {
		want["redline_result_latency_max_seconds"] = d.Latency.MaxUs / 1e6
	}
	if d.Latency.P50 != nil {
		want[`redline_result_latency_quantile_seconds{quantile="0.5"}`] = *d.Latency.P50 / 1e6
	}
	if want["redline_result_valid"] = 0; d.Valid {
		want["redline_result_valid"] = 1
	}
	for _, target := range d.Targets {
		want[`redline_result_target_requests{request="`+target.Name+`"}`] = float64(target.Requests)
	}
	for key, v := range want {
		if is, there := got[key]; !there || is < v*(1-1e-9) || is > v*(1+1e-9) {
			t.Errorf("%s: %s is %v (there: %v), want %v", where, key, is, there, v)
		}
	}
	if d.Requests > 0 && got["redline_requests_total"] == 0 {
		t.Errorf("%s: nothing was counted while the run went on", where)
	}
}

// All receivers get the figures of the document, for every kind of load.
func TestLoadExport(t *testing.T) {
	sometimes := func(w http.ResponseWriter, r *http.Request, n int64) {
		if n%50 == 0 { // never a first request, which is sent before the run
			w.WriteHeader(http.StatusTeapot)
		}
		hello(w, r, n)
	}
	scenario := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(scenario, []byte("targets:\n  - {name: home, url: /hello}\n  - {name: cart, url: /hello}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"closed":   nil,
		"open":     {"-r", "200"},
		"workers":  {"--workers", "2"},
		"scenario": {"--targets", scenario, "--keep-going"},
		"events":   {"--sse"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "workers" {
				once(t)
			}
			url, _ := serve(t, sometimes)
			switch name {
			case "scenario":
				url = strings.TrimSuffix(url, "/hello")
			case "events":
				url = eventsForExport(t)
			}
			into := exporttest.New()
			s := httptest.NewServer(into)
			t.Cleanup(s.Close)
			file := filepath.Join(t.TempDir(), "run.lp")
			args := append(short("--export", "remote-write="+s.URL+"/api/v1/write", "--export", "otlp="+s.URL, "--export", "influxdb="+s.URL+"?db=x",
				"--export", "influxdb="+file, "--export", "prometheus="+freeAddr(t), "--export-run", name, "--json", "-", url), args...)
			code, out, said := loadOf(t, t.Context(), args...)
			if code != 0 || len(into.Errors) > 0 {
				t.Fatalf("exit code %d, %v, %s", code, into.Errors, said)
			}
			d := documentOf(t, out)
			for _, format := range []string{exporttest.RemoteWrite, exporttest.OTLP, exporttest.InfluxDB} {
				equal(t, format, into.Last(format), &d)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			written := map[string]float64{}
			if err := exporttest.ReadInflux(string(text), written); err != nil {
				t.Fatal(err)
			}
			equal(t, "file", written, &d)
			// The last point of several workers may be after the window.
			if n := into.Samples("redline_rate_achieved_per_second"); n != len(d.Series) {
				t.Errorf("%d samples of %d points", n, len(d.Series))
			}
		})
	}
}

// eventsForExport starts a server of event streams, and returns its URL.
func eventsForExport(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := w.Write([]byte("id: " + strconv.Itoa(i) + "\ndata: x\n\n")); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Prometheus can read the result after the run, and the command ends once it has.
func TestLoadExportScrape(t *testing.T) {
	url, _ := serve(t, hello)
	metrics := freeAddr(t)
	type fetched struct {
		values map[string]float64
		err    error
	}
	came := make(chan fetched, 1)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		for ctx.Err() == nil {
			if values, err := exporttest.Fetch("http://" + metrics + "/metrics"); err == nil && values["redline_result_requests"] > 0 {
				came <- fetched{values, err}
				return
			}
		}
		came <- fetched{err: ctx.Err()}
	}()
	code, out, said := loadOf(t, t.Context(), short("--export", "prometheus="+metrics, "--export-linger", "30s", "--json", "-", url)...)
	stop()
	got := <-came
	if code != 0 || got.err != nil {
		t.Fatalf("exit code %d, %v, %s", code, got.err, said)
	}
	d := documentOf(t, out)
	equal(t, "scrape", got.values, &d)
}

// A missing receiver is an error before the load begins, or a note.
func TestLoadExportNobody(t *testing.T) {
	url, count := serve(t, hello)
	gone := "http://ann:s3cret@" + freeAddr(t)
	code, out, said := loadOf(t, t.Context(), short("--export", "influxdb="+gone+"?db=x", url)...)
	if n := count.Load(); code != 1 || out != "" || n != 1 || !strings.Contains(said, "connection refused") || strings.Contains(said, "s3cret") {
		t.Errorf("exit code %d after %d requests, %s", code, n, said)
	}
	code, out, said = loadOf(t, t.Context(), short("--export", "influxdb="+gone+"?db=x", "--export-optional", "--json", "-", url)...)
	if d := documentOf(t, out); code != 0 || len(remarks(d)) != 1 || !strings.Contains(said, "NOTE: nothing was exported to influxdb=http://127.") || strings.Contains(out+said, "s3cret") {
		t.Errorf("exit code %d, notes %q, %s", code, d.Notes, said)
	}
}

// A receiver that ends during the run does not disturb it; if it misses the result the exit
// code is 1, as for a file that cannot be written, and all other output is complete.
func TestLoadExportDies(t *testing.T) {
	url, _ := serve(t, hello)
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 1 {
			http.Error(w, "full", http.StatusInsufficientStorage)
		}
	}))
	t.Cleanup(s.Close)
	code, out, said := loadOf(t, t.Context(), short("--export", "otlp="+s.URL, "--json", "-", url)...)
	d := documentOf(t, out)
	if code != 1 || d.Requests == 0 || len(remarks(d)) != 1 || !strings.Contains(remarks(d)[0], "points were not exported to otlp=") ||
		!strings.Contains(said, "export the result to otlp="+s.URL+"/v1/metrics: the answer has status 507: full") {
		t.Errorf("exit code %d, notes %q, %s", code, d.Notes, said)
	}
}

func TestLoadExportUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	dir := t.TempDir()
	file, scenario := filepath.Join(dir, "x"), filepath.Join(dir, "shop.yaml")
	if err := os.WriteFile(scenario, []byte("targets:\n  - {name: home, url: /}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--export", "statsd=:1", url}, `--export "statsd" is not a format: write prometheus=:9464`},
		{[]string{"--export", "otlp=ftp://h", url}, "--export otlp: want a URL, as otlp=http://localhost:4318"},
		{[]string{"--export", "prometheus", "--export", "prometheus=:9464", url}, "is given twice, as number 1 and 2"},
		{[]string{"--export-run", "x", url}, "--export-run: say where to export to"},
		{[]string{"--export-linger", "1s", url}, "--export-linger: say where to export to"},
		{[]string{"--export-optional", url}, "--export-optional: say where to export to"},
		{[]string{"--export", "prometheus", "--export-linger", "-1s", url}, "--export-linger -1s: want 0 or more"},
		{[]string{"--export", "otlp", "--export-linger", "1s", url}, "--export-linger is for --export prometheus"},
		{[]string{"--export", "otlp", "--export-run", "a\nb", url}, "want a name of one line, up to 100 bytes"},
		{[]string{"--export", "otlp", "--try", "--targets", scenario, url}, "--try measures nothing: leave out --export"},
		{[]string{"--export", "influxdb=" + file, "--csv", file, url}, "--csv and --export influxdb=" + file + ": both would be written to"},
		{[]string{"--export", "otlp", "--kubernetes", "--image", "x", "http://shop/"}, "coordinate it from here with --apply"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, _, said := loadOf(t, t.Context(), c.args...)
			if code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want 2, %q", code, said, c.want)
			}
		})
	}
}
