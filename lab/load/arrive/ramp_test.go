package arrive

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRamp(t *testing.T) {
	steps, err := ParseRamp("10s:100, 5s:100,0s:20,10s:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Ramp{From: 10, Steps: steps}
	if err := r.Validate(); err != nil || r.Duration() != 25*time.Second || r.Peak() != 100 {
		t.Errorf("%v, %v, at most %d", err, r.Duration(), r.Peak())
	}
	for at, want := range map[time.Duration]int{
		-time.Second: 10, 0: 10, 5 * time.Second: 55, 10 * time.Second: 100, 14 * time.Second: 100,
		15 * time.Second: 20, 20 * time.Second: 10, 25 * time.Second: 0, time.Hour: 0,
	} {
		if got := r.At(at); got != want {
			t.Errorf("%d at %v, want %d", got, at, want)
		}
		sum := 0
		for i := range 3 {
			part := *r
			part.Index, part.Of = i, 3
			sum += part.At(at)
		}
		if sum != want {
			t.Errorf("%d in three parts at %v, want %d", sum, at, want)
		}
	}
}

func TestRampSpans(t *testing.T) {
	r := &Ramp{From: 4, Steps: []RampStep{{10 * time.Second, 4}, {0, 20}, {10 * time.Second, 0}}}
	first, second := Span{0, 10 * time.Second, 4, 4}, Span{10 * time.Second, 20 * time.Second, 20, 0}
	for window, want := range map[time.Duration][]Span{
		20 * time.Second: {first, second},
		25 * time.Second: {first, second, {20 * time.Second, 25 * time.Second, 0, 0}},
		15 * time.Second: {first, {10 * time.Second, 15 * time.Second, 20, 10}},
		10 * time.Second: {first},
	} {
		if got := r.Spans(window); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", window, got, want)
		}
	}
}

func TestRampErrors(t *testing.T) {
	for text, want := range map[string]string{
		"30s":                   "has no colon: write DURATION:CONNECTIONS",
		"soon:3":                `"soon" is not a duration`,
		"-1s:3":                 `"-1s" is not a duration`,
		"1s:3/s":                `"3/s" is not a number of connections`,
		"1s:-3":                 "is not a number of connections",
		"1s:1000000000":         "is not a number of connections",
		"0s:3":                  "take no time",
		"2000000h:1,2000000h:1": "more than 292 years",
	} {
		if _, err := ParseRamp(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, c := range []struct {
		ramp Ramp
		want string
	}{
		{Ramp{From: -1}, "begins with -1"},
		{Ramp{Steps: []RampStep{{time.Second, 0}}}, "no users throughout"},
		{Ramp{From: 1, Steps: []RampStep{{-1, 0}}}, "step 1 lasts"},
		{Ramp{From: 1, Steps: []RampStep{{1, -1}}}, "step 1 ends with -1"},
		{Ramp{From: 1, Index: 2, Of: 2}, "part 2 of 2"},
	} {
		if err := c.ramp.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.ramp, err, c.want)
		}
	}
}
