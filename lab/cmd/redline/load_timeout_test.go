package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestLoadTimeoutsAreLatencies shows in all outputs that some requests were never answered: their
// ages are in the distributions, of the targets too.
func TestLoadTimeoutsAreLatencies(t *testing.T) {
	for name, more := range map[string][]string{
		"open":          {"-c", "64", "-r", "200"},
		"closed":        {"-c", "64", "--think", "100ms"},
		"targets":       {"-c", "64", "-r", "200", "--targets", targets(t)},
		"HTTP/2":        {"-c", "2", "--http2", "--streams", "32", "-r", "200"},
		"two workers":   {"-c", "64", "-r", "200", "--workers", "2"},
		"steps":         {"-c", "64", "--stages", "1s:200,1s:200"},
		"ramp of users": {"-c", "8", "--ramp", "1s:16,1s:16", "--think", "50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, hangs(t, func(n int64) bool { return n%25 == 0 }))
			page := filepath.Join(t.TempDir(), "page.html")
			_, out, said := loadOf(t, t.Context(), append(more, "-d", "2s", "--warmup", "0", "--timeout", "500ms", "--json", "-", "--html", page, url)...)
			d := documentOf(t, out)
			if d.TimedOut == 0 || d.Errors["timeout"] == 0 || d.Latency.P99 != nil && *d.Latency.P99 < 0.49e6 || d.Latency.MaxUs < 0.49e6 {
				t.Fatalf("%d timed out, p99 %v us, at most %v us; %s", d.TimedOut, d.Latency.P99, d.Latency.MaxUs, said)
			}
			if o := d.Open; o != nil && (d.Latency.Count != o.Due-o.Failed+d.TimedOut || d.TimedOut > o.Failed) {
				t.Errorf("%d latencies, %d timed out of %+v", d.Latency.Count, d.TimedOut, o)
			}
			longest := 0.0
			for _, p := range d.Series {
				longest = max(longest, p.P99Us)
			}
			if longest < 0.4e6 {
				t.Errorf("the longest p99 of the series is %v us", longest)
			}
			for i := range d.Targets {
				if name == "targets" && d.Targets[i].Latency.MaxUs < 0.49e6 {
					t.Errorf("%s: at most %v us", d.Targets[i].Name, d.Targets[i].Latency.MaxUs)
				}
			}
			if !strings.Contains(said, "timed out") || !strings.Contains(read(t, page), "Timed out") {
				t.Errorf("no output says it: %s", said)
			}
		})
	}
}
