package static

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestParseRange(t *testing.T) {
	whole := []Range(nil)
	tests := []struct {
		value string
		want  []Range
		err   error
	}{
		{"", whole, nil},
		{"bytes=0-0", []Range{{0, 1}}, nil},
		{"bytes=0-9", []Range{{0, 10}}, nil},
		{"bytes=5-", []Range{{5, 5}}, nil},
		{"bytes=-3", []Range{{7, 3}}, nil},
		{"bytes=-99", []Range{{0, 10}}, nil},
		{"bytes=8-99", []Range{{8, 2}}, nil},
		{"Bytes=1-1", []Range{{1, 1}}, nil}, // range units are case-insensitive (RFC 9110, 14.1)
		{"bytes=0-1,4-5", []Range{{0, 2}, {4, 2}}, nil},
		{"bytes= 0-1 ,\t4-5", []Range{{0, 2}, {4, 2}}, nil},
		{"bytes=,0-1,,4-5,", []Range{{0, 2}, {4, 2}}, nil},
		{"bytes=4-5,0-1", []Range{{4, 2}, {0, 2}}, nil},
		{"bytes=0-1,99-", []Range{{0, 2}}, nil},
		{"bytes=0-5,4-9", whole, nil},
		{"bytes=0-,0-", whole, nil},
		{"lines=0-1", whole, nil}, // an unknown unit is ignored (RFC 9110, 14.2)
		{"=0-1", whole, nil},
		{"bytes=0-99999999999999999999999", []Range{{0, 10}}, nil},
		{"bytes=-99999999999999999999999", []Range{{0, 10}}, nil},
		{"bytes=" + strings.Repeat(",", 1000) + "0-0", []Range{{0, 1}}, nil},
		{"bytes=" + strings.Repeat("20-,", MaxRanges) + "0-0", whole, nil},
		{"bytes=10-", nil, ErrRange},
		{"bytes=10-20,30-", nil, ErrRange},
		{"bytes=99999999999999999999-", nil, ErrRange},
		{"bytes=-0", nil, ErrRange},
		{"bytes=", nil, ErrRange},
		{"bytes=,", nil, ErrRange},
		{"bytes", nil, ErrRange},
		{"bytes=-", nil, ErrRange},
		{"bytes=a-1", nil, ErrRange},
		{"bytes=1-a", nil, ErrRange},
		{"bytes=5-4", nil, ErrRange},
		{"bytes=+1-2", nil, ErrRange},
		{"bytes=-+2", nil, ErrRange},
		{"bytes=--2", nil, ErrRange},
		{"bytes=1--2", nil, ErrRange},
		{"bytes=1 - 2", nil, ErrRange},
		{"bytes=0x1-2", nil, ErrRange},
		{"bytes=1_0-", nil, ErrRange},
		{"bytes=0-5,4-9,x", nil, ErrRange},
		{"bytes=0-1, bytes=4-5", nil, ErrRange},
	}
	for _, tt := range tests {
		got, err := ParseRange(tt.value, 10)
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%.60q: %v %v, want %v %v", tt.value, got, err, tt.want, tt.err)
		}
		if got, err := ParseRange(tt.value, 0); got != nil || err != nil {
			t.Errorf("%.60q of nothing: %v %v", tt.value, got, err)
		}
	}
	if got := (Range{Start: 2, Length: 3}).ContentRange(10); got != "bytes 2-4/10" {
		t.Error(got)
	}
	if got := Unsatisfied(10); got != "bytes */10" {
		t.Error(got)
	}
}

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"bytes=0-1", "bytes=-3,1-", "bytes=9223372036854775807-", "bytes=1-9223372036854775808", "lines=1"} {
		f.Add(s, int64(10))
		f.Add(s, int64(math.MaxInt64))
	}
	f.Fuzz(func(t *testing.T, value string, size int64) {
		if size < 0 {
			return
		}
		ranges, err := ParseRange(value, size)
		if err != nil && (!errors.Is(err, ErrRange) || ranges != nil) {
			t.Fatal(ranges, err)
		}
		left := size
		for _, r := range ranges {
			if r.Start < 0 || r.Length <= 0 || r.Start > size-r.Length || r.Length > left {
				t.Fatalf("%q of %d: %v", value, size, ranges)
			}
			left -= r.Length
		}
		if len(ranges) > MaxRanges {
			t.Fatal(len(ranges))
		}
		// What was understood, written down again, means the same.
		specs := make([]string, len(ranges))
		for i, r := range ranges {
			specs[i] = fmt.Sprintf("%d-%d", r.Start, r.Start+r.Length-1)
		}
		if len(ranges) > 0 {
			again, err := ParseRange("bytes="+strings.Join(specs, ", "), size)
			if err != nil || !slices.Equal(again, ranges) {
				t.Fatalf("%q of %d: %v, again %v %v", value, size, ranges, again, err)
			}
		}
	})
}
