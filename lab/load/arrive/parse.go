package arrive

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseRate parses a rate: arrivals a second (1000, 0.5), or a number per time (6000/m,
// 50/100ms), as in vegeta. The errors of this file say what to write instead; the caller
// adds the name of the flag.
func ParseRate(text string) (float64, error) {
	number, per, cut := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0) {
		return 0, fmt.Errorf("%q is no rate: write arrivals a second, such as 1000, or a number per time, such as 6000/m or 50/100ms", text)
	}
	if cut {
		d, err := parsePer(per)
		if err != nil {
			return 0, fmt.Errorf("rate %q: %w", text, err)
		}
		n /= d.Seconds()
	}
	if err := checkRate(n); err != nil {
		return 0, fmt.Errorf("rate %q: %w", text, err)
	}
	return n, nil
}

// parsePer parses the time that a rate refers to: s, m, h or a duration.
func parsePer(text string) (time.Duration, error) {
	switch text {
	case "s", "m", "h":
		text = "1" + text
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("after the slash write s, m, h or a duration, such as 50/100ms")
	}
	return d, nil
}

// ParseArrivals parses the distribution of arrivals, constant or poisson, and reports
// whether it is poisson.
func ParseArrivals(text string) (poisson bool, err error) {
	switch text {
	case "constant":
		return false, nil
	case "poisson":
		return true, nil
	}
	return false, fmt.Errorf("%q: write constant (evenly spaced) or poisson (independent, like users)", text)
}

// ParseStages parses DURATION:RATE pairs, as in 30s:1000,60s:5000: the rate changes
// linearly to RATE over DURATION. 0s:RATE is a step.
func ParseStages(text string) ([]Stage, error) {
	const form = "write DURATION:RATE, such as 30s:1000,60s:5000 (to 1000/s over 30 s, then to 5000/s over a minute), or 0s:RATE for a step"
	var stages []Stage
	err := parsePairs(text, "stage", form, MaxStages, func(d time.Duration, text string) error {
		r, err := ParseRate(text)
		stages = append(stages, Stage{For: d, Rate: r})
		return err
	})
	if err != nil {
		return nil, err
	}
	return stages, nil
}

// parsePairs parses pairs of a duration and a value, as in 30s:1000,60s:5000, and passes each
// to add, which parses the value. There are at most most pairs. Errors call a pair what, and
// form says how to write one.
func parsePairs(text, what, form string, most int, add func(d time.Duration, value string) error) error {
	var total time.Duration
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		duration, value, ok := strings.Cut(part, ":")
		if !ok {
			return fmt.Errorf("%s %q has no colon: %s", what, part, form)
		}
		d, err := time.ParseDuration(duration)
		if err != nil || d < 0 {
			return fmt.Errorf("%s %q: %q is not a duration: %s", what, part, duration, form)
		}
		if err := add(d, value); err != nil {
			return fmt.Errorf("%s %q: %w", what, part, err)
		}
		if total += d; total < 0 {
			return fmt.Errorf("%s %q: the %ss take more than 292 years", what, part, what)
		}
		n++
	}
	if n > most {
		return fmt.Errorf("%d %ss: write at most %d", n, what, most)
	}
	if total == 0 {
		return fmt.Errorf("%ss %q take no time: %s", what, text, form)
	}
	return nil
}

// shareOfBurst is the period of a burst divided by its default duration.
const shareOfBurst = 10

// ParseBurst parses FACTORx/EVERY or FACTORx/EVERY/FOR: 1.5x/10s/2s is a rate 1.5 times as
// high for two seconds of every ten. FOR defaults to a tenth of EVERY.
func ParseBurst(text string) (Burst, error) {
	fail := func(why string) (Burst, error) {
		return Burst{}, fmt.Errorf("burst %q: %s: write FACTORx/EVERY or FACTORx/EVERY/FOR, such as 1.5x/10s/2s (1.5 times the rate for 2 s of every 10 s)", text, why)
	}
	parts := strings.Split(text, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return fail("want two or three parts")
	}
	number, ok := strings.CutSuffix(parts[0], "x")
	if !ok {
		return fail(fmt.Sprintf("%q does not end in x", parts[0]))
	}
	var b Burst
	var err error
	if b.Factor, err = strconv.ParseFloat(number, 64); err != nil {
		return fail(fmt.Sprintf("%q is not a number", number))
	}
	if b.Every, err = time.ParseDuration(parts[1]); err != nil || b.Every <= 0 {
		return fail(fmt.Sprintf("%q is not a duration", parts[1]))
	}
	b.For = b.Every / shareOfBurst
	if len(parts) == 3 {
		if b.For, err = time.ParseDuration(parts[2]); err != nil {
			return fail(fmt.Sprintf("%q is not a duration", parts[2]))
		}
	}
	if err := b.validate(); err != nil {
		return fail(err.Error())
	}
	return b, nil
}
