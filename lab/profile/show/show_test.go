package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/baseline"
	"github.com/redline-go/redline/lab/profile/profiletest"
	"github.com/redline-go/redline/lab/profile/rules"
	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/report/screen"
)

func samples(t *testing.T, text string, requests float64) *tree.Samples {
	t.Helper()
	p := profiletest.Of("cpu", "nanoseconds", text)
	profile.Window{Seconds: 2, Requests: requests}.Mark(p)
	s, err := tree.Read(p, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wants checks that an output has lines with these words, in this order.
func wants(t *testing.T, text string, lines ...string) {
	t.Helper()
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	got := strings.Join(all, "\n") + "\n"
	for _, line := range lines {
		at := strings.Index(got, line)
		if at < 0 {
			t.Fatalf("%q is missing, or not in this order, in\n%s", line, text)
		}
		got = got[at+len(line):]
	}
}

const shop = "main.main;net/http.serve;main.order 6000000\nmain.main;net/http.serve 3000000\nmain.main;runtime.mallocgc 1000000\nmain.rare 10000\n"

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "bytes", "0"},
		{1500, "nanoseconds", "1.50 µs"},
		{2.5e9, "nanoseconds", "2.50 s"},
		{2048, "bytes", "2.00 KiB"},
		{-2048, "bytes", "-2.00 KiB"},
		{12, "count", "12"},
		{0.25, "count", "0.25"},
		{3e6, "count", "3.00M"},
		{7, "microseconds", "7.00 µs"},
	} {
		if got := Amount(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	if got := Signed(2048, "bytes"); got != "+2.00 KiB" {
		t.Error(got)
	}
}

func TestTop(t *testing.T) {
	var b bytes.Buffer
	if err := Top(&b, samples(t, shop, 1000), Options{Top: 2}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "cpu: 10.0 ms in 2.00 s, 500 requests/s, 10.0 µs a request", "main.order 6.00 ms 59.9 % 6.00 ms 59.9 % 6.00 µs 6.00 µs", "http.serve 3.00 ms 30.0 % 9.00 ms 89.9 % 3.00 µs 9.00 µs",
		"3 more functions", "purpose", "user code 6.01 ms", "http 3.00 ms")
	b.Reset()
	if err := Top(&b, samples(t, shop, 0), Options{Top: 1, ByCum: true}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "cpu: 10.0 ms in 2.00 s\n", "main.main 0 0.0 % 10.0 ms 99.9 %\n")
}

func TestCalls(t *testing.T) {
	var b bytes.Buffer
	if err := Calls(&b, samples(t, shop, 1000), screen.Screen{Width: 60}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "99.9 % 10.0 ms 10.0 µs main.main", "http.serve", "59.9 % 6.00 ms 6.00 µs main.order", "runtime.mallocgc")
	if strings.Contains(b.String(), "main.rare") {
		t.Error("a call of a thousandth is shown")
	}
}

func TestDiff(t *testing.T) {
	var b bytes.Buffer
	if err := Diff(&b, samples(t, "main.f 1000000\nmain.gone 500000\n", 1000), samples(t, "main.f 6000000\n", 2000), Options{Top: 5}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "for each request", "main.f 1.00 µs 3.00 µs +2.00 µs +2.00 µs", "main.gone 0.50 µs 0 -0.50 µs")
	b.Reset()
	if err := Diff(&b, samples(t, "main.f 1\nmain.g 1\n", 0), samples(t, "main.f 3\nmain.g 1\n", 7), Options{Top: 5}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "share of the total", "main.f 50.0 % 75.0 % +25.00 pp")
}

func vector(t *testing.T, requests float64, scale int) *baseline.Vector {
	t.Helper()
	var list []baseline.Window
	for i := range 8 {
		s := samples(t, strings.Repeat("main.f 1000000\n", scale)+"main.g;runtime.mallocgc 3000000\n", requests)
		s.Values[0] += int64(1000 * i) // no two are equal
		s.Total += int64(1000 * i)
		list = append(list, baseline.Window{Kind: "cpu", Samples: s})
	}
	metrics, err := baseline.Measure(list)
	if err != nil {
		t.Fatal(err)
	}
	return &baseline.Vector{Metrics: metrics, Notes: []string{"a note"}}
}

func TestBaseline(t *testing.T) {
	before, after := vector(t, 1000, 3), vector(t, 1000, 5)
	var b bytes.Buffer
	if err := Vector(&b, before, screen.Screen{}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "cpu: 8 windows, 6.00 µs (6.00 µs to 6.01 µs) a request", "purpose", "note: a note")
	c, err := baseline.Compare(before, after, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := Comparison(&b, c, screen.Screen{}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "cpu, a request", "total 8.00 µs, was 6.00 µs: +2.00 µs", "WORSE", "main.f", "+2.00 µs !", "is a regression of more than 0.30 µs")
	b.Reset()
	if c, err = baseline.Compare(before, before, 0.05); err != nil {
		t.Fatal(err)
	}
	if err := Comparison(&b, c, screen.Screen{}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "no change beyond noise", "values moved beyond noise")
	list, err := rules.Parse([]byte(rules.Builtin))
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := Findings(&b, list, nil, before, screen.Screen{}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "rule allocation: alloc: 50.0 % of cpu, more than 40%", "rule not applied: twice its baseline: it needs a baseline")
}
