package output

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/watch"
)

// events are one of each kind.
var events = []watch.Event{
	{Missing: &watch.Missing{Figures: []string{"pss_bytes"}, Source: "/proc/7/smaps_rollup", Reason: "permission denied: run as root or as the process's user"}},
	{Sample: &watch.Sample{T: 0.2, Values: map[string]float64{"cpu_total": 0.5, "rss_bytes": 3 << 20, "tcp_rtt": 0.0015}, Totals: map[string]float64{"cpu_total": 0.1, "io_read": 4096, "syscalls{read}": 7}}},
	{Crossed: &watch.Crossed{T: 0.2, Mark: "rss-slope", Value: 20, Limit: 15, Unit: "MB/s"}},
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	l, err := NewLines(&b, Begin{Tool: "v1", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), PID: 7, Every: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := l.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.End(watch.Summary{End: watch.EndGone, Samples: 1}); err != nil {
		t.Fatal(err)
	}
	want := `{"type":"begin","schema":"redline.watch","version":1,"tool":"v1","started":"2026-01-02T03:04:05Z","pid":7,"every_seconds":0.2}
{"type":"missing","figures":["pss_bytes"],"source":"/proc/7/smaps_rollup","reason":"permission denied: run as root or as the process's user"}
{"type":"sample","t":0.2,"values":{"cpu_total":0.5,"rss_bytes":3145728,"tcp_rtt":0.0015}}
{"type":"mark","t":0.2,"mark":"rss-slope","value":20,"limit":15,"unit":"MB/s"}
`
	got, end, _ := strings.Cut(b.String(), `{"type":"end"`)
	if got != want {
		t.Errorf("%s", got)
	}
	if !json.Valid([]byte(`{"type":"end"`+end)) || !strings.HasPrefix(end, `,"end":"gone"`) {
		t.Errorf("%s", end)
	}
}

func TestLive(t *testing.T) {
	var b bytes.Buffer
	l := NewLive(&b, screen.Screen{Width: 100, Rewrites: true}, "watching process 7", nil)
	for _, e := range events {
		if err := l.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	l.End()
	for _, want := range []string{
		"pss_bytes: /proc/7/smaps_rollup: permission denied: run as root or as the process's user\n",
		"watching process 7  0.2 s", "CPU       cores 0.50", "memory    RSS 3.00 MiB", "TCP       RTT 1.50 ms",
		"0.2 s  rss-slope: 20 MB/s is over the limit 15",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %q", want, b.String())
		}
	}
	if strings.Contains(b.String(), "descriptors") {
		t.Error("a figure that was never read is shown")
	}
}

func TestPrint(t *testing.T) {
	var b bytes.Buffer
	s := watch.Summary{
		End: watch.EndTime, Seconds: 10, Samples: 51, Missing: []watch.Missing{*events[0].Missing},
		Figures: map[string]watch.Range{
			"rss_bytes":      {Min: 1 << 20, Median: 2 << 20, Max: 3 << 20, Last: 3 << 20, Samples: 51},
			"syscalls{read}": {Min: 2, Median: 3, Max: 4, Last: 3}, "syscalls{close}": {Min: 1, Median: 1, Max: 1, Last: 1},
			"descriptors": {Samples: 51}, "gpu": {Min: 1, Median: 2, Max: 3, Last: 2},
		},
		Marks: []watch.MarkSummary{
			{Mark: "rss-slope", Limit: 15, Unit: "MB/s", Times: 3, First: 4, Worst: 20},
			{Mark: "throttled", Limit: 0.01, Unit: "share"},
			{Mark: "gc-cpu", Limit: 0.25, Unit: "share", Missing: []string{"gc_cpu", "go_cpu"}},
		},
	}
	if err := Print(&b, screen.Screen{}, s, []watch.Figure{{Name: "gpu", Unit: watch.Count}}); err != nil {
		t.Fatal(err)
	}
	want := `51 samples in 10.0 s

figure                                 min        median           max          last
rss_bytes                         1.00 MiB      2.00 MiB      3.00 MiB      3.00 MiB
syscalls{close}                     1.00/s        1.00/s        1.00/s        1.00/s
syscalls{read}                      2.00/s        3.00/s        4.00/s        3.00/s
gpu                                      1             2             3             2
1 more figure was 0 all the time.

mark rss-slope: crossed 3 times, first after 4.0 s; worst 20 MB/s, limit 15
mark throttled: not crossed, limit 0.01 share
mark gc-cpu: not evaluated without gc_cpu, go_cpu
missing: pss_bytes: /proc/7/smaps_rollup: permission denied: run as root or as the process's user
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

func TestMetrics(t *testing.T) {
	m, err := Listen("127.0.0.1:0", 7, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := m.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	page := scrape(t, m)
	for _, want := range []string{
		"# TYPE redline_watch_rss_bytes gauge\n", `redline_watch_rss_bytes{pid="7"} 3.145728e+06`, `redline_watch_tcp_rtt_seconds{pid="7"} 0.0015`,
		"# TYPE redline_watch_cpu_total_seconds_total counter\n", `redline_watch_cpu_total_seconds_total{pid="7"} 0.1`,
		`redline_watch_io_read_bytes_total{pid="7"} 4096`, `redline_watch_syscalls_total{call="read",pid="7"} 7`, `redline_watch_mark_crossed{mark="rss-slope",pid="7"} 1`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	// A gauge that is not read any more is not served as if it were.
	if err := m.Event(watch.Event{Sample: &watch.Sample{T: 60, Values: map[string]float64{"threads": 4}}}); err != nil {
		t.Fatal(err)
	}
	if page = scrape(t, m); strings.Contains(page, "rss_bytes{") || !strings.Contains(page, "redline_watch_threads{") || !strings.Contains(page, "io_read_bytes_total{") {
		t.Errorf("%s", page)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Listen("127.0.0.1:99999", 7, nil); err == nil {
		t.Error("port 99999 is accepted")
	}
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	answer, err := http.Get("http://" + m.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	return string(body)
}
