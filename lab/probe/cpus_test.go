package probe

import (
	"slices"
	"testing"
)

func TestParseCPUs(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int // nil: an error
		out  string
	}{
		{"0", []int{0}, "0"},
		{"0-3,7\n", []int{0, 1, 2, 3, 7}, "0-3,7"},
		{"7,0-1,1", []int{0, 1, 7}, "0-1,7"},
		{"5-5", []int{5}, "5"},
		{"", nil, ""},
		{",", nil, ""},
		{"3-1", nil, ""},
		{"-1", nil, ""},
		{"1-", nil, ""},
		{"a", nil, ""},
		{"+1", nil, ""},
		{"0-4000000000", nil, ""},
		{"99999999999999999999", nil, ""},
	} {
		got, err := ParseCPUs(c.in)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("ParseCPUs(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
		if out := FormatCPUs(got); out != c.out {
			t.Errorf("FormatCPUs(%v) = %q, want %q", got, out, c.out)
		}
	}
}
