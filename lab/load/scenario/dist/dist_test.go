package dist

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var _ flag.Value = (*Dist)(nil)

func TestDraw(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("think.txt", []byte("# seen on a Monday\n10ms\n\n30ms\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const ms = float64(time.Millisecond)
	for _, tt := range []struct {
		text           string
		mean, median   float64
		least, longest float64
	}{
		{"120ms", 120 * ms, 120 * ms, 120 * ms, 120 * ms},
		{"constant:120ms", 120 * ms, 120 * ms, 120 * ms, 120 * ms},
		{"uniform:50ms,150ms", 100 * ms, 100 * ms, 50 * ms, 150 * ms},
		{"exponential:100ms", 100 * ms, 100 * math.Ln2 * ms, 0, math.Inf(1)},
		{"lognormal:120ms, 0.8", 120 * math.Exp(0.32) * ms, 120 * ms, 0, math.Inf(1)},
		{"file:think.txt", 20 * ms, math.NaN(), 10 * ms, 30 * ms},
	} {
		d, err := Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if d.String() != tt.text || math.Abs(float64(d.Mean())-tt.mean) > 1 {
			t.Errorf("%s: %s, mean %v", tt.text, d.String(), d.Mean())
		}
		// The seed is fixed, so the result is always the same.
		r := rand.New(rand.NewPCG(1, 2))
		const n = 100_000
		draws := make([]float64, n)
		var sum float64
		for i := range draws {
			draws[i] = float64(d.Draw(r))
			sum += draws[i]
		}
		slices.Sort(draws)
		if got := sum / n; math.Abs(got/tt.mean-1) > 0.01 {
			t.Errorf("%s: mean %v, want %v", tt.text, time.Duration(got), time.Duration(tt.mean))
		}
		if got := draws[n/2]; !math.IsNaN(tt.median) && math.Abs(got/tt.median-1) > 0.01 {
			t.Errorf("%s: median %v, want %v", tt.text, time.Duration(got), time.Duration(tt.median))
		}
		if draws[0] < tt.least || draws[n-1] > tt.longest {
			t.Errorf("%s: from %v to %v", tt.text, draws[0], draws[n-1])
		}
	}
}

func TestTail(t *testing.T) {
	d, err := Parse("lognormal:24h,10")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if got := d.Draw(r); got < 0 || got > Longest {
			t.Fatalf("drew %v", got)
		}
	}
	if d.Mean() <= 0 {
		t.Errorf("mean %v", d.Mean())
	}
}

func TestZero(t *testing.T) {
	var d Dist
	if !d.Zero() || d.String() != "0s" || d.Draw(nil) != 0 {
		t.Error("the zero value is not 0")
	}
	for text, want := range map[string]bool{"0s": true, "uniform:0s,0s": true, "uniform:0s,1s": false, "exponential:0s": true, "1ns": false} {
		if d, err := Parse(text); err != nil || d.Zero() != want {
			t.Errorf("%s: zero %v, %v", text, d.Zero(), err)
		}
	}
}

func TestErrors(t *testing.T) {
	read := func(name string) ([]byte, error) {
		switch name {
		case "empty":
			return []byte("# nothing\n"), nil
		case "bare":
			return []byte("10ms\n20\n"), nil
		}
		return nil, fs.ErrNotExist
	}
	for text, want := range map[string]string{
		"":                     "not a duration with a unit",
		"120":                  "not a duration with a unit",
		"-1s":                  "not between 0 and",
		"25h":                  "not between 0 and",
		"constant:1s,2s":       "the number of parameters is 1, not 2",
		"uniform:1s":           "the number of parameters is 2, not 1",
		"uniform:2s,1s":        "longer than the second",
		"exponential:":         "is not a duration",
		"lognormal:120ms":      "the number of parameters is 2, not 1",
		"lognormal:x,1":        "is not a duration",
		"lognormal:120ms,11":   "sigma \"11\"",
		"lognormal:120ms,NaN":  "sigma \"NaN\"",
		"lognormal:120ms,-0.1": "sigma \"-0.1\"",
		"gauss:1s,2s":          "unknown distribution",
		"file:empty":           "empty contains no durations",
		"file:bare":            "bare:2: \"20\" is not a duration with a unit",
		"file:gone":            "file does not exist",
	} {
		_, err := ParseWith(text, read)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		} else if !strings.HasPrefix(text, "file:") && !strings.Contains(err.Error(), known) {
			t.Errorf("%q: %v does not say what to write", text, err)
		}
	}
	if _, err := Parse("file:" + filepath.Join(t.TempDir(), "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	var d Dist
	if err := d.Set("uniform:1s,2s"); err != nil {
		t.Fatal(err)
	}
	if err := d.Set("nonsense"); err == nil || d.String() != "uniform:1s,2s" {
		t.Errorf("a bad value: %v, and left %s", err, &d)
	}
	data, err := json.Marshal(d)
	var back Dist
	if err != nil || json.Unmarshal(data, &back) != nil || back.String() != d.String() || back.Mean() != d.Mean() {
		t.Errorf("%s came back as %s, %v", data, &back, err)
	}
}

func TestAllocs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{"1s", "uniform:1s,2s", "exponential:1s", "lognormal:1s,1"} {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { d.Draw(r) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1s", "uniform:1s,2s", "lognormal:120ms,0.8", "exponential:1s", "file:x", "a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseWith(text, func(string) ([]byte, error) { return []byte(text), nil })
		if err != nil {
			return
		}
		for range 10 {
			if got := d.Draw(rand.New(rand.NewPCG(1, 2))); got < 0 || got > Longest {
				t.Fatalf("%q drew %v", text, got)
			}
		}
	})
}
