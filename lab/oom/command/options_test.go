package command

import (
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/oom"
)

func TestLoads(t *testing.T) {
	for _, c := range []struct {
		options Options
		body    int64
		want    []oom.Load
	}{
		{Options{Steps: 4, First: 8, Most: 64}, 0, []oom.Load{{Connections: 8}, {Connections: 16}, {Connections: 32}, {Connections: 64}}},
		{Options{Steps: 2, First: 8, Most: 8, Rate: 50}, 1 << 10, []oom.Load{{Connections: 8, Rate: 50, Body: 1 << 10}, {Connections: 8, Rate: 100, Body: 2 << 10}}},
		{Options{Steps: 1, First: 8, Most: 9}, 0, []oom.Load{{Connections: 9}}},
	} {
		if got := c.options.loads(c.body); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %+v", c.options, got)
		}
	}
}

func TestShare(t *testing.T) {
	for text, want := range map[string]float64{"90%": 0.9, "0.5": 0.5, "1": 1, "100%": 1, "0": 0, "1.5": 0, "-1": 0, "64MiB": 0, "": 0, "NaN": 0, "NaN%": 0} {
		if got, ok := share(text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %v, %t", text, got, ok)
		}
	}
}
