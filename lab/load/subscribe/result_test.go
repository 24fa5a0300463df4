package subscribe

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// The merged results of two generators equal the result of one.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	encode := func(h *hdrhistogram.Histogram) string {
		t.Helper()
		l, err := results.NewLatency(h)
		if err != nil {
			t.Fatal(err)
		}
		return l.Histogram
	}
	fresh := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, 3600e9, 3) }
	allGaps, allLags := fresh(), fresh()
	var parts []*spec.Subscribed
	for i := range 3 {
		gaps, lags := fresh(), fresh()
		for range 1000 {
			v := 1 + rng.Int64N(2e9)
			for _, err := range []error{gaps.RecordValue(v), allGaps.RecordValue(v), lags.RecordValue(v / 1e3), allLags.RecordValue(v / 1e3)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		n := uint64(i)
		parts = append(parts, &spec.Subscribed{
			Subscribers: 100 * (i + 1), Standing: 10 + i, Lowest: 5 + i, Endless: i, Quiet: 2 * i, Silence: float64(3 - i), Connect: float64(i),
			Memory: 1000 + n, Each: float64(600 + 60*i), Events: 50 + n, Missed: n, Duplicated: 2 * n, Oversized: 3 * n, Cut: 4 * n,
			Comments: 5 * n, Negative: 6 * n, Stamped: 10 * n, Numbered: 11 * n, Reconnects: 7 * n, Ends: 8 * n, Retired: 9 * n, Gap: encode(gaps), Lag: encode(lags),
			Left: 12 * n, Joined: 13 * n, Slow: &spec.SlowHeard{Subscribers: i, Events: n, Missed: 2 * n, Duplicated: 3 * n, Ended: 4 * n},
		})
	}
	parts[1].Publish = &spec.Published{Topics: 5, Due: 10, Sent: 9, Accepted: 8, Unsent: 1, Lost: 2, Errors: map[string]uint64{"status": 1}, Lag: encode(allGaps), Own: encode(allGaps), Answer: encode(allGaps)}
	got, err := Merge(parts)
	if err != nil {
		t.Fatal(err)
	}
	want := &spec.Subscribed{
		Subscribers: 600, Standing: 33, Lowest: 18, Endless: 3, Quiet: 6, Silence: 3, Connect: 2,
		Memory: 3003, Each: (600*100 + 660*200 + 720*300) / 600.0, Events: 153, Missed: 3, Duplicated: 6, Oversized: 9, Cut: 12,
		Comments: 15, Negative: 18, Stamped: 30, Numbered: 33, Reconnects: 21, Ends: 24, Retired: 27, Gap: encode(allGaps), Lag: encode(allLags),
		Left: 36, Joined: 39, Slow: &spec.SlowHeard{Subscribers: 3, Events: 3, Missed: 6, Duplicated: 9, Ended: 12},
		Publish: &spec.Published{Topics: 5, Due: 10, Sent: 9, Accepted: 8, Unsent: 1, Lost: 2, Errors: map[string]uint64{"status": 1}, Lag: encode(allGaps), Own: encode(allGaps), Answer: encode(allGaps)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// Detects a field that Merge omits.
	for i, v := 0, reflect.ValueOf(*got); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not merged", v.Type().Field(i).Name)
		}
	}
	parts[1].Gap = "no histogram"
	if _, err := Merge(parts); err == nil {
		t.Error("a damaged histogram was merged")
	}
}

// Since and Fill handle every count.
func TestSince(t *testing.T) {
	set := func(c *Counts, by uint64) {
		v := reflect.ValueOf(c).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Uint64 {
				f.SetUint(by * uint64(i+1))
			}
		}
		c.Stamped, c.Numbered = 100*by, 101*by
		for k := range c.Errors {
			c.Errors[k] = by * uint64(k+1)
		}
	}
	var from, to, want Counts
	set(&from, 2)
	set(&to, 5)
	set(&want, 3)
	if got := to.Since(&from); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if n := len(want.ByKind()); n != int(numKinds) {
		t.Errorf("%d kinds have distinct names, want %d", n, numKinds)
	}
}
