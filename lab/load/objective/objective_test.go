package objective

import (
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redline-go/redline/lab/results"
)

func us(v float64) *float64 { return &v }

var figures = Figures{
	Latency: results.Latency{Count: 5000, MeanUs: 900, P50: us(800), P99: us(4200), MaxUs: 9000},
	Rate:    2500, Answered: 5000, Errors: 5,
	Targets: map[string]Figures{
		"buy":             {Iterations: Iterations{Time: results.Latency{Count: 50, P50: us(3e6)}, Aborted: 60}},
		"buy/pay, twice":  {Latency: results.Latency{Count: 100, P50: us(100)}, Rate: 50, Answered: 100, Errors: 300},
		"pay":             {Latency: results.Latency{Count: 100, P50: us(300)}, Rate: 50, Answered: 100},
		"a: b <c>":        {},
		"GET /items/${n}": {Latency: results.Latency{Count: 100, P50: us(200)}, Rate: 50, Answered: 100},
	},
	Iterations: Iterations{Time: results.Latency{Count: 2000, MeanUs: 2e6, P50: us(1.9e6), P99: us(4e6), MaxUs: 5e6}},
	Stream: &Stream{
		Delay: results.Latency{Count: 20, P50: us(700)}, Gap: results.Latency{Count: 3000, MeanUs: 1e5, P99: us(2e5)},
		Numbered: 9, Counts: map[string]uint64{"missed": 2, "standing": 1000},
	},
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		text string
		kept bool
		why  string
	}{
		{"p99<10ms", true, "p99<10ms: it is 4.20 ms"},
		{"p99 < 4ms", false, "p99 < 4ms: it is 4.20 ms"},
		{"p50<800us", false, "it is 800 µs"},
		{"p50<=800us", true, "it is 800 µs"},
		{"mean<1ms", true, "it is 900 µs"},
		{"max>1s", false, "it is 9.00 ms"},
		{"errors<0.1%", true, "it is 0.0999 %"},
		{"errors<0.01%", false, "it is 0.0999 %"},
		{"errors<5", false, "it is 5"},
		{"errors<=5", true, "it is 5"},
		{"rate>2000", true, "it is 2.50k/s"},
		{"rate>=2500/s", true, "it is 2.50k/s"},
		{"p50{buy/pay, twice}<200us", true, "p50{buy/pay, twice}<200us: it is 100 µs"},
		{"errors{buy/pay, twice}<10%", false, "it is 75 %"},
		{"rate {buy/pay, twice} > 49", true, "it is 50.0/s"},
		{"p99{buy/pay, twice}<1s", false, "100 answers are too few to judge, 1000 are needed"},
		{"GET /items/${n}: p50 < 1ms", true, "GET /items/${n}: p50 < 1ms: it is 200 µs"},
		{"pay: p50<50us", false, "pay: p50<50us: it is 300 µs"},
		{"a: b <c>: errors<1", true, "it is 0"},
		{"pay: p95<1s", false, "100 answers are too few to judge, 200 are needed"},
		{"pay: p5<1s", false, "100 answers are too few to judge, 200 are needed"},
		{"p50{GET /items/${n}}<100us", false, "it is 200 µs"},
		{"iteration.p99<3s", false, "iteration.p99<3s: it is 4.00 s"},
		{"iteration.mean<=2s", true, "it is 2.00 s"},
		{"iteration.p99.9<9s", false, "2000 iterations are too few to judge, 10000 are needed"},
		{"iteration.p50{buy}<9s", false, "60 of 110 iterations were aborted, so it exceeds any time"},
		{"iteration.p50{none}<9s", false, "0 iterations are too few to judge"},
		{"delay.p50<1ms", true, "it is 700 µs"},
		{"delay.p99<1s", false, "20 events with a stamp are too few to judge, 1000 are needed"},
		{"gap.p99<150ms", false, "it is 200 ms"},
		{"gap.p99.9<1s", false, "3000 gaps are too few to judge, 10000 are needed"},
		{"gap.mean<=100ms", true, "it is 100 ms"},
		{"missed<1", false, "missed<1: it is 2"},
		{"duplicated<1", true, "it is 0"},
		{"standing>=1000", true, "it is 1000"},
		{"p99.99<1s", false, "5000 answers are too few to judge, 100000 are needed"},
	} {
		list, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if j := list[0].Judge(figures); j.Kept != c.kept || !strings.Contains(j.Why, c.why) {
			t.Errorf("%s: kept %v, %q", c.text, j.Kept, j.Why)
		}
	}
}

// Without events that have an id, objectives of ids are not kept.
func TestNothingNumbered(t *testing.T) {
	list, err := Parse("missed<1,duplicated<1,oversized<1,missed>=0")
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range list {
		j := o.Judge(Figures{Stream: &Stream{Counts: map[string]uint64{}}})
		if j.Kept != (i == 2) || !j.Kept && (j.Value != nil || !strings.HasSuffix(j.Why, "0 events with an id are too few to judge, 1 are needed")) {
			t.Errorf("%s: %+v", o, j)
		}
	}
}

// Without an answer, only objectives that allow this are kept.
func TestNothingAnswered(t *testing.T) {
	list, err := Parse("p50<1s,mean<1s,max<1s,errors<1%,rate>1,errors<5")
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range list {
		if kept := o.Judge(Figures{}).Kept; kept != (i == 5) {
			t.Errorf("%s: kept %v", o, kept)
		}
	}
}

func TestSamples(t *testing.T) {
	for text, want := range map[string]uint64{"p50<1s": 20, "p99<1s": 1000, "p99.9<1s": 10_000, "p99.99<1s": 100_000, "p75<1s": 40, "p95<1s": 200, "p99.95<1s": 20_000, "delay.p99.9999<1s": 10_000_000, "p10<1s": 100, "errors<1": 1} {
		list, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := list[0].Samples(); got != want {
			t.Errorf("%s takes %d, want %d", text, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"p99{}<1s":         "there is no name in the braces",
		"p99{a<1s":         "write the name of a target in braces",
		"p99}a{<1s":        "write the name of a target in braces",
		"{a}<1s":           "is not an objective",
		"":                 "write METRIC<LIMIT",
		"p99":              `"p99" is not an objective`,
		"<10ms":            "is not an objective",
		"p99<10":           `"10" is not a duration: write one with its unit, as p99<10ms`,
		"p99<-1ms":         "is not a duration",
		"p<10ms":           `"p" is not a percentile: write one above p0 and up to p99.9999, or max`,
		"p0<10ms":          "is not a percentile",
		"p100<10ms":        "is not a percentile",
		"p99.99999<10ms":   "is not a percentile",
		"p9.9.9<10ms":      "is not a percentile",
		"p-5<10ms":         `"p-5" is not a figure of a load: write METRIC<LIMIT`,
		"delay.p100<1s":    `"p100" is not a figure of delay`,
		"pay.p99.9<10ms":   `for a target pay write pay: p99.9`,
		"a.b.errors<1%":    `for a target a.b write a.b: errors`,
		": p99<1s":         "there is no name before the colon",
		"pay: p<1s":        "is not a percentile",
		"pay:<1s":          "is not an objective",
		"errors<x":         `"x" is not a limit: write a share or a count`,
		"errors<200%":      "is more than 100%",
		"rate>fast":        "write a number of requests a second",
		"rate>NaN":         "write a number",
		"p99<1s,":          `"" is not an objective`,
		"p99<1s,p50=1ms":   `"p50=1ms" is not an objective`,
		"iteration.rate>5": `"rate" is not a figure of iteration: write one as iteration.p99<10ms`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// TestLost counts requests that failed as longer than any time.
func TestLost(t *testing.T) {
	h := hdrhistogram.New(1, 3600e9, 3)
	for i := range int64(9800) {
		if err := h.RecordValue(1e6 + 1000*i); err != nil { // 1 to 10.8 ms
			t.Fatal(err)
		}
	}
	l, err := results.NewLatency(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		lost uint64
		kept bool
		why  string
	}{
		{"p99<20ms", 0, true, "it is 10.7 ms"},
		{"p99<20ms", 50, true, "it is 10.8 ms"},
		{"p99<20ms", 200, false, "200 of 10000 requests failed, so it exceeds any time"},
		{"p50<6.1ms", 200, true, "it is 6.00 ms"},
		{"p50<5.9ms", 200, false, "it is 6.00 ms"},
		{"p99>20ms", 200, true, "exceeds any time"},
		{"p99.99<1s", 200, false, "too few to judge"},
		{"p75<9ms", 0, true, "it is 8.35 ms"},
		{"p97.5<11ms", 200, true, "it is 10.8 ms"},
		{"p99.95<11ms", 0, false, "9800 answers are too few to judge, 20000 are needed"},
	} {
		list, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if j := list[0].Judge(Figures{Latency: l, Answered: l.Count, Errors: c.lost, Lost: c.lost}); j.Kept != c.kept || !strings.Contains(j.Why, c.why) {
			t.Errorf("%s with %d lost: kept %v, %q", c.text, c.lost, j.Kept, j.Why)
		}
	}
}

// For a misspelt name, the nearest names are listed first.
func TestNearest(t *testing.T) {
	names := []string{"home", "checkout", "pay", "shopping/cart", "Payment"}
	for misspelt, want := range map[string]string{
		"pya": "pay home", "chekout": "checkout home", "PAYMENTS": "Payment pay", "cart": "pay home", "": "pay home",
	} {
		if got := strings.Join(Nearest(misspelt, names, 2), " "); got != want {
			t.Errorf("%q: %q, want %q", misspelt, got, want)
		}
	}
	if got := Nearest("x", names[:1], 20); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
