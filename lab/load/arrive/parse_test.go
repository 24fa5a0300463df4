package arrive

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{
		"1000": 1000, "0.5": 0.5, "1e5": 1e5, "1000/s": 1000, "6000/m": 100, "3600/h": 1, "50/100ms": 500, "0": 0,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseStages(t *testing.T) {
	got, err := ParseStages("30s:1000, 0s:2000,1m:6000/m")
	want := []Stage{{30 * time.Second, 1000}, {0, 2000}, {time.Minute, 100}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestParseBurst(t *testing.T) {
	for text, want := range map[string]Burst{
		"1.5x/10s":    {1.5, 10 * time.Second, time.Second},
		"1.5x/10s/2s": {1.5, 10 * time.Second, 2 * time.Second},
		"10x/1m":      {10, time.Minute, 6 * time.Second},
	} {
		if got, err := ParseBurst(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseArrivals(t *testing.T) {
	for text, want := range map[string]bool{"poisson": true, "constant": false} {
		if got, err := ParseArrivals(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// Every error quotes the text and contains what to write instead.
func TestParseErrors(t *testing.T) {
	rate := func(s string) error { _, err := ParseRate(s); return err }
	stages := func(s string) error { _, err := ParseStages(s); return err }
	burst := func(s string) error { _, err := ParseBurst(s); return err }
	arrivals := func(s string) error { _, err := ParseArrivals(s); return err }
	for _, tc := range []struct {
		parse      func(string) error
		text, want string
		instead    string
	}{
		{rate, "", `"" is no rate`, "as 1000"},
		{rate, "fast", `"fast" is no rate`, "as 1000"},
		{rate, "-5", `"-5" is no rate`, "as 1000"},
		{rate, "NaN", `"NaN" is no rate`, "as 1000"},
		{rate, "1000rps", `"1000rps" is no rate`, "50/100ms"},
		{rate, "1000/second", `rate "1000/second": after the slash`, "write s, m, h or a duration"},
		{rate, "1000/", `rate "1000/": after the slash`, "write s, m, h or a duration"},
		{rate, "1000/0s", `rate "1000/0s": after the slash`, "write s, m, h or a duration"},
		{rate, "1e12", `rate "1e12": a rate of 1e+12`, "between 0 and 1e+09"},
		{rate, "Inf", `rate "Inf": a rate of +Inf`, "between 0 and 1e+09"},
		{stages, "", `stage "" has no colon`, "30s:1000,60s:5000"},
		{stages, "30s=1000", `stage "30s=1000" has no colon`, "30s:1000,60s:5000"},
		{stages, "30s:1000,", `stage "" has no colon`, "30s:1000,60s:5000"},
		{stages, "30:1000", `stage "30:1000": "30" is not a duration`, "30s:1000,60s:5000"},
		{stages, "-1s:1000", `stage "-1s:1000": "-1s" is not a duration`, "30s:1000,60s:5000"},
		{stages, "1000:30s", `stage "1000:30s": "1000" is not a duration`, "DURATION:RATE"},
		{stages, "30s:many", `stage "30s:many": "many" is no rate`, "as 1000"},
		{stages, "0s:1000", `stages "0s:1000" take no time`, "30s:1000,60s:5000"},
		{stages, "2000000h:1,2000000h:1", `stage "2000000h:1": the stages take more than`, "292 years"},
		{burst, "", `burst "": want two or three parts`, "1.5x/10s/2s"},
		{burst, "1.5x", `burst "1.5x": want two or three parts`, "1.5x/10s/2s"},
		{burst, "1.5x/10s/1s/1s", `want two or three parts`, "1.5x/10s/2s"},
		{burst, "1.5/10s", `"1.5" does not end in x`, "1.5x/10s/2s"},
		{burst, "ax/10s", `"a" is not a number`, "1.5x/10s/2s"},
		{burst, "2x/10", `"10" is not a duration`, "1.5x/10s/2s"},
		{burst, "2x/-1s", `"-1s" is not a duration`, "1.5x/10s/2s"},
		{burst, "2x/10s/2", `"2" is not a duration`, "1.5x/10s/2s"},
		{burst, "0.5x/10s", "multiplies the rate by 0.5, which must be more than 1", "1.5x/10s/2s"},
		{burst, "2x/10s/10s", "lasts 10s of every 10s", "1.5x/10s/2s"},
		{burst, "2x/10s/0s", "lasts 0s of every 10s", "1.5x/10s/2s"},
		{arrivals, "", `""`, "write constant (evenly spaced) or poisson"},
		{arrivals, "Poisson", `"Poisson"`, "write constant (evenly spaced) or poisson"},
	} {
		err := tc.parse(tc.text)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.instead) {
			t.Errorf("%q: error %v, want %q and %q", tc.text, err, tc.want, tc.instead)
		}
	}
}
