package profile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
)

// difference returns the samples of after minus those of before.
func difference(before, after []byte) ([]byte, error) {
	early, err := Decode(before)
	if err != nil {
		return nil, err
	}
	late, err := Decode(after)
	if err != nil {
		return nil, err
	}
	early.Scale(-1)
	late.DurationNanos = late.TimeNanos - early.TimeNanos
	early.DurationNanos = 0 // durations are added up
	sum, err := profile.Merge([]*profile.Profile{late, early})
	if err != nil {
		return nil, fmt.Errorf("subtract a profile: %w", err)
	}
	var out bytes.Buffer
	if err := sum.Write(&out); err != nil {
		return nil, fmt.Errorf("encode a profile: %w", err)
	}
	return out.Bytes(), nil
}

// Function is a function's part of a profile.
type Function struct {
	Name string
	Flat float64 // share of the total in the function itself, 0 to 1
	Cum  float64 // share of the total including its callees
}

// top returns the n functions with the largest flat shares of a profile's last value, which
// is time in a CPU profile.
func top(p *profile.Profile, n int) []Function {
	value := len(p.SampleType) - 1
	if value < 0 {
		return nil
	}
	flat, cum, all := map[string]int64{}, map[string]int64{}, int64(0)
	for _, s := range p.Sample {
		v := s.Value[value]
		all += v
		seen := map[string]bool{} // a recursive function counts once
		for i, name := range stack(s) {
			if i == 0 {
				flat[name] += v
			}
			if !seen[name] {
				seen[name] = true
				cum[name] += v
			}
		}
	}
	if all <= 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(flat), func(a, b string) int {
		return cmp.Or(cmp.Compare(flat[b], flat[a]), cmp.Compare(a, b))
	})
	var out []Function
	for _, name := range names[:min(n, len(names))] {
		out = append(out, Function{Name: name, Flat: float64(flat[name]) / float64(all), Cum: float64(cum[name]) / float64(all)})
	}
	return out
}

// stack returns the functions of a sample, innermost first, including inlined ones.
func stack(s *profile.Sample) []string {
	var names []string
	for _, at := range s.Location {
		if len(at.Line) == 0 {
			names = append(names, fmt.Sprintf("%#x", at.Address)) // a program without symbols
		}
		for _, l := range at.Line {
			name := "?"
			if l.Function != nil {
				name = l.Function.Name
			}
			names = append(names, name)
		}
	}
	return names
}
