package dist

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

// Longest is the upper limit of drawn durations: the tails of exponential and lognormal are
// unbounded, a [time.Duration] is not.
const Longest = 24 * time.Hour

// maxSigma limits the sigma of lognormal: at 10 one draw in six is already more than 20,000
// times the median.
const maxSigma = 10

type shape uint8

const (
	constant shape = iota
	uniform
	exponential
	lognormal
	file
)

// Dist is a distribution of durations. The zero value always yields 0. A parsed Dist is
// immutable, may be copied, and is safe for concurrent use. *Dist implements flag.Value and
// pflag.Value.
type Dist struct {
	shape   shape
	a, b    float64         // nanoseconds; b is sigma for lognormal
	text    string          // as written
	samples []time.Duration // of file
}

// known lists the forms of a distribution; every error ends with it.
const known = "write constant:120ms, uniform:50ms,150ms, exponential:100ms, lognormal:120ms,0.8 (median, sigma) or file:NAME"

// Parse parses a distribution. It reads a file immediately, relative to the working
// directory.
func Parse(text string) (Dist, error) { return ParseWith(text, os.ReadFile) }

// ParseWith is [Parse] with a function that reads files.
func ParseWith(text string, read func(name string) ([]byte, error)) (Dist, error) {
	name, rest, ok := strings.Cut(text, ":")
	if !ok {
		name, rest = "constant", text
	}
	d := Dist{text: text}
	var err error
	switch name {
	case "constant":
		err = d.parameters(constant, rest, &d.a)
	case "uniform":
		err = d.parameters(uniform, rest, &d.a, &d.b)
		if err == nil && d.a > d.b {
			err = errors.New("the first duration is longer than the second")
		}
	case "exponential":
		err = d.parameters(exponential, rest, &d.a)
	case "lognormal":
		err = d.lognormal(rest)
	case "file":
		d.shape = file
		if d.samples, err = readSamples(rest, read); err != nil {
			return Dist{}, fmt.Errorf("distribution %q: %w", text, err)
		}
		return d, nil
	default:
		err = errors.New("unknown distribution")
	}
	if err != nil {
		return Dist{}, fmt.Errorf("distribution %q: %w; %s", text, err, known)
	}
	return d, nil
}

// File returns the name of the file if text is a distribution read from a file.
func File(text string) (name string, ok bool) { return strings.CutPrefix(text, "file:") }

// parameters parses durations separated by commas.
func (d *Dist) parameters(s shape, rest string, into ...*float64) error {
	d.shape = s
	parts := strings.Split(rest, ",")
	if len(parts) != len(into) {
		return fmt.Errorf("the number of parameters is %d, not %d", len(into), len(parts))
	}
	for i, part := range parts {
		t, err := duration(part)
		if err != nil {
			return err
		}
		*into[i] = float64(t)
	}
	return nil
}

func (d *Dist) lognormal(rest string) error {
	median, sigma, ok := strings.Cut(rest, ",")
	if !ok {
		return errors.New("the number of parameters is 2, not 1")
	}
	if err := d.parameters(lognormal, median, &d.a); err != nil {
		return err
	}
	b, err := strconv.ParseFloat(strings.TrimSpace(sigma), 64)
	if err != nil || !(b >= 0 && b <= maxSigma) { // not b < 0 || b > max: NaN
		return fmt.Errorf("sigma %q is not a number from 0 to %d", sigma, maxSigma)
	}
	d.b = b
	return nil
}

func duration(text string) (time.Duration, error) {
	t, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration with a unit, such as 120ms or 1.5s", text)
	case t < 0 || t > Longest:
		return 0, fmt.Errorf("%s is not between 0 and %s", text, Longest)
	}
	return t, nil
}

// readSamples reads one duration a line. Empty lines and lines that begin with # are
// ignored.
func readSamples(name string, read func(string) ([]byte, error)) ([]time.Duration, error) {
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	var samples []time.Duration
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		t, err := duration(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		samples = append(samples, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("%s contains no durations; write one on each line, such as 120ms", name)
	}
	return samples, nil
}

// Draw returns the next duration, from 0 to [Longest]. It does not allocate, and does not
// use r if the distribution is constant.
func (d *Dist) Draw(r *rand.Rand) time.Duration {
	var t float64
	switch d.shape {
	case constant:
		return time.Duration(d.a)
	case uniform:
		t = d.a + (d.b-d.a)*r.Float64()
	case exponential:
		t = d.a * r.ExpFloat64()
	case lognormal:
		t = d.a * math.Exp(d.b*r.NormFloat64())
	case file:
		return d.samples[r.IntN(len(d.samples))]
	}
	return time.Duration(min(t, float64(Longest)))
}

// Zero reports whether every draw is 0.
func (d *Dist) Zero() bool {
	return d.shape != file && d.a == 0 && (d.shape != uniform || d.b == 0)
}

// Mean returns the expected duration, including the tail beyond [Longest].
func (d *Dist) Mean() time.Duration {
	switch d.shape {
	case uniform:
		return time.Duration((d.a + d.b) / 2)
	case lognormal:
		return time.Duration(min(d.a*math.Exp(d.b*d.b/2), math.MaxInt64/2))
	case file:
		var sum float64
		for _, t := range d.samples {
			sum += float64(t)
		}
		return time.Duration(sum / float64(len(d.samples)))
	default:
		return time.Duration(d.a)
	}
}

// String returns the distribution as written.
func (d *Dist) String() string {
	if d.text == "" {
		return "0s"
	}
	return d.text
}

// Set parses the value of a flag.
func (d *Dist) Set(text string) error {
	parsed, err := Parse(text)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Type returns the name of the value's type in a flag's help text.
func (d *Dist) Type() string { return "distribution" }

// MarshalText returns the text of the distribution as written.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is [Dist.Set].
func (d *Dist) UnmarshalText(text []byte) error { return d.Set(string(text)) }
