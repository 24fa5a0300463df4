package present

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report/screen"
)

// streamRun returns a valid run of subscribers.
func streamRun(t *testing.T) (*Document, *spec.Result) {
	d, r := closedRun(t)
	d.Stream = &Stream{Config: StreamConfig{Format: spec.FormatEvents, Stamp: "ts", ID: "@id", Ends: true}}
	d.Config.Connections = 1000
	r.Connects, r.Connect, r.FirstByte = 0, "", ""
	r.Listen = &spec.Subscribed{
		Subscribers: 1000, Standing: 1000, Lowest: 998, Connect: 1.25, Memory: 24 << 20, Each: 640,
		Events: r.Requests, Numbered: r.Requests, Stamped: r.Requests, Gap: encoded(t, 19_000, func(i int) int64 { return 499e6 + int64(i)*100 }),
		Lag: encoded(t, 20_000, func(i int) int64 { return 1000 + int64(i) }), Reconnects: 2, Ends: 2,
	}
	return d, r
}

func TestStreamSummary(t *testing.T) {
	t.Run("well", func(t *testing.T) {
		d, r := streamRun(t)
		d = fill(t, d, r, "delay.p99<2ms,gap.p99<100ms,missed<1,standing>999")
		golden(t, "stream.txt", summaryOf(t, d))
		if !d.Valid || d.Kept() {
			t.Errorf("valid %v, kept %v", d.Valid, d.Kept())
		}
	})
	t.Run("unwell", func(t *testing.T) {
		d, r := streamRun(t)
		s := r.Listen
		s.Standing, s.Lowest, s.Retired, s.Quiet, s.Silence, s.Missed, s.Duplicated = 900, 880, 50, 40, 9.5, 7, 3
		s.Oversized, s.Cut, s.Endless, s.Negative = 4, 5, 6, 11
		s.Lag = encoded(t, 20_000, func(i int) int64 { return 1_000_000 + int64(i) })
		r.Errors, r.GeneratorCPU = map[string]uint64{"chunk": 5, "stall": 2}, 9
		golden(t, "stream-unwell.txt", summaryOf(t, fill(t, d, r, "")))
	})
}

// Each disturbance fails one gate and no other.
func TestStreamGates(t *testing.T) {
	for _, c := range []struct {
		gate string
		ill  func(*spec.Result)
		ok   string // a threshold that replaces the gate
	}{
		{"events", func(r *spec.Result) { r.Requests, r.Listen.Events = 0, 0 }, ""},
		{"generator", func(r *spec.Result) { r.GeneratorCPU = 8.1 }, ""},
		{"read lag", func(r *spec.Result) {
			r.Listen.Lag = encoded(t, 2000, func(int) int64 { return 200_000 })
		}, ""},
		{"clocks", func(r *spec.Result) { r.Listen.Negative = 1 }, ""},
		{"errors", func(r *spec.Result) { r.Errors = map[string]uint64{"reset": 1} }, "errors<5"},
		{"ids", func(r *spec.Result) { r.Listen.Numbered = 0 }, ""},
		{"stamp", func(r *spec.Result) { r.Listen.Stamped = 0 }, ""},
		{"standing", func(r *spec.Result) { r.Listen.Standing = 999 }, "standing>900"},
		{"standing", func(r *spec.Result) { r.Listen.Standing, r.Listen.Retired = 0, 1000 }, "standing>=0"},
	} {
		t.Run(c.gate, func(t *testing.T) {
			d, r := streamRun(t)
			c.ill(r)
			failed := fill(t, d, r, "").Failed()
			if len(failed) != 1 || failed[0].Name != c.gate || failed[0].Text == "" {
				t.Errorf("failed %+v", failed)
			}
			if c.ok == "" {
				return
			}
			d, r = streamRun(t)
			c.ill(r)
			if failed := fill(t, d, r, c.ok).Failed(); len(failed) != 0 {
				t.Errorf("with %s failed %+v", c.ok, failed)
			}
		})
	}
	t.Run("default ids that no event has", func(t *testing.T) {
		d, r := streamRun(t)
		d.Stream.Config.AnyID, r.Listen.Numbered = true, 0
		d = fill(t, d, r, "missed<1")
		text := summaryOf(t, d)
		if !d.Valid || d.Kept() || !strings.Contains(text, "none of the events had a number in the field id: the number of missed events is unknown\n") {
			t.Errorf("valid %v, kept %v\n%s", d.Valid, d.Kept(), text)
		}
	})
	t.Run("some without", func(t *testing.T) {
		d, r := streamRun(t)
		r.Listen.Numbered, r.Listen.Stamped = r.Listen.Events-5, r.Listen.Events-7
		d = fill(t, d, r, "missed<1")
		want := []string{
			"5 of 20000 events did not have a number in the field id: missed and duplicated ids are those of the others",
			"7 of 20000 events did not have a number under the key ts: delays are those of the others",
		}
		if !d.Valid || !d.Kept() || !slices.Equal(d.Notes, want) {
			t.Errorf("valid %v, kept %v, notes %q", d.Valid, d.Kept(), d.Notes)
		}
	})
	t.Run("retired subscribers are not missing", func(t *testing.T) {
		d, r := streamRun(t)
		r.Listen.Standing, r.Listen.Retired = 990, 10
		if d = fill(t, d, r, ""); !d.Valid {
			t.Errorf("failed %+v", d.Failed())
		}
	})
}

func TestStreamSeries(t *testing.T) {
	p := PointOf(&spec.Tick{T: 0.2, Seconds: 0.2, Requests: 100, Listen: &spec.Heard{
		Standing: 1, BytesIn: 2, GapP50: 3, GapP99: 4, LagP99: 5, Missed: 6, Duplicated: 7, Reconnects: 8,
	}})
	var b bytes.Buffer
	if err := CSV(&b, []Point{p}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	n := len(csvHead) + len(runtimeHead)
	if !slices.Equal(rows[0][n:], streamHead) || !slices.Equal(rows[1][n:], []string{"1", "2", "3", "4", "5", "6", "7", "8"}) {
		t.Errorf("%v", rows)
	}
	var live strings.Builder
	d, _ := streamRun(t)
	l := NewLive(&live, screen.Screen{})
	l.Begin(d)
	l.Standing(400)
	l.Window()
	l.Point(p)
	for _, want := range []string{"events 500/s", "standing 1", "missed 6", "reconnects 8", "read lag 5"} {
		if !strings.Contains(live.String(), want) {
			t.Errorf("%q is not in %q", want, live.String())
		}
	}
}

// The unit of a time is in the field's name; never is not a time.
func TestStreamConfig(t *testing.T) {
	for _, c := range []struct {
		of   spec.Subscribe
		text string
	}{
		{spec.Subscribe{Format: spec.FormatLines, Retry: 250 * time.Millisecond, Stall: 30 * time.Second}, `{"format":"lines","retry_seconds":0.25,"stall_seconds":30}`},
		{spec.Subscribe{Format: spec.FormatEvents, ID: "@id", Limit: 5, Stamp: "a", Unit: "ms", Ends: true}, `{"format":"events","limit":5,"stamp":"a","unit":"ms","id":"@id","retry_seconds":0,"ends":true}`},
		{spec.Subscribe{Format: spec.FormatVarint, Retry: spec.NeverRetry}, `{"format":"varint"}`},
	} {
		text, err := json.Marshal(StreamConfigOf(&c.of))
		if err != nil || string(text) != c.text {
			t.Errorf("%v: %s, want %s", err, text, c.text)
		}
	}
}
