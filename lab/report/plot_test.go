package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/results"
)

// latencyOf returns the distribution of samples in microseconds.
func latencyOf(t *testing.T, samples ...int64) results.Latency {
	t.Helper()
	h := hdrhistogram.New(1, int64(1e12), 3)
	for _, us := range samples {
		if err := h.RecordValue(us * 1000); err != nil {
			t.Fatal(err)
		}
	}
	l, err := results.NewLatency(h)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// steps returns n samples of each of the times.
func steps(n int, us ...int64) (all []int64) {
	for _, v := range us {
		for range n {
			all = append(all, v)
		}
	}
	return all
}

func TestPlot(t *testing.T) {
	var picture strings.Builder
	err := Plot(&picture, []Plotted{
		{"closed <loop>\x1b[2J", latencyOf(t, steps(1000, 1000)...)},
		{"open", latencyOf(t, append(steps(900, 1000), steps(100, 1000000)...)...)},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := picture.String()
	for dec := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("invalid XML: %v\n%s", err, text)
		}
	}
	for _, want := range []string{"closed &lt;loop&gt;", ">1 ms<", ">1 s<", ">p50<", ">p90<", ">p99<"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(text, "p99.9<") {
		t.Error("a thousand samples carry p99.9")
	}
	lines := regexp.MustCompile(`x1="([^"]*)" x2="([^"]*)" y1="([^"]*)" y2="([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(lines) != 4+3 {
		t.Errorf("%d lines in the grid, want those of 4 times and 3 percentiles", len(lines))
	}
	for _, l := range lines {
		if (l[1] == l[2]) == (l[3] == l[4]) {
			t.Errorf("a grid line is neither horizontal nor vertical: %s", l[0])
		}
	}
	// The curve of constant latencies is level; the other one rises by three decades.
	curves := regexp.MustCompile(`d="(M[^"h]*)"`).FindAllStringSubmatch(text, -1)
	if len(curves) != 2 {
		t.Fatalf("%d curves in %s", len(curves), text)
	}
	if from, to := ends(t, curves[0][1]); from != to {
		t.Errorf("the level curve goes from %v to %v", from, to)
	}
	from, to := ends(t, curves[1][1])
	if decade := float64(plotInnerHigh) / 3; math.Abs(from-to-3*decade) > 1 {
		t.Errorf("the curve rises by %v pixels, want three decades, %v", from-to, 3*decade)
	}
}

// ends returns the first and the last y of a curve.
func ends(t *testing.T, path string) (from, to float64) {
	t.Helper()
	points := strings.Split(path[1:], "L")
	for i, at := range []*float64{&from, &to} {
		var x float64
		if _, err := fmt.Sscan(points[i*(len(points)-1)], &x, at); err != nil {
			t.Fatalf("%v in %s", err, path)
		}
	}
	return from, to
}

func TestPlotErrors(t *testing.T) {
	one := Plotted{"one", latencyOf(t, steps(100, 5)...)}
	for name, curves := range map[string][]Plotted{
		"none":       nil,
		"too many":   {one, one, one, one, one, one, one},
		"no samples": {{"empty", latencyOf(t)}},
		"damaged":    {{"damaged", results.Latency{Histogram: "x"}}},
	} {
		if err := Plot(io.Discard, curves); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
