package present

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A run shows the requested percentiles in text and JSON if it has enough samples for them; a
// saved document can show others.
func TestChoosePercents(t *testing.T) {
	d, r := openRun(t)
	d.Config.Percentiles = []float64{5, 50, 75, 95, 97.5, 99, 99.9, 99.95, 99.99}
	fill(t, d, r, "p99.95<2ms,p97.5<1ms,p99.99<1s")
	text := summaryOf(t, d)
	golden(t, "percentiles.txt", text)
	for _, head := range []string{" p5 ", " p97.5 ", " p99.95 ", " p99.99\n"} {
		if !strings.Contains(text, head) {
			t.Errorf("no %q in\n%s", head, text)
		}
	}
	for i, p := range d.Latency.Percentiles {
		if p.Percent != d.Config.Percentiles[i] || (p.Us == nil) != (p.Percent == 99.99) {
			t.Errorf("%+v", p)
		}
	}
	d.ChoosePercents([]float64{90})
	if l := d.Open.Pacing.Percentiles; len(l) != 1 || *l[0].Us != *d.Open.Pacing.P90 {
		t.Errorf("%+v", l)
	}
	if text := summaryOf(t, d); strings.Contains(text, "p50") || !strings.Contains(text, "p90") {
		t.Error(text)
	}
}

// Files written before p95 was a standard percentile show it too.
func TestNoP95(t *testing.T) {
	d, r := closedRun(t)
	fill(t, d, r, "")
	before := summaryOf(t, d)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	old := new(Document)
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"p95_us":`, `"another":`)), old); err != nil {
		t.Fatal(err)
	}
	if old.Latency.P95 != nil || summaryOf(t, old) != before {
		t.Error(summaryOf(t, old))
	}
}

// The table of targets shows as many percentiles as there is room for.
func TestTargetPercents(t *testing.T) {
	d := &Document{Config: Config{Percentiles: []float64{1, 2, 3, 4, 5, 6}}}
	if got := d.targetPercents(); !slices.Equal(got, d.Config.Percentiles[:5]) {
		t.Error(got)
	}
}
