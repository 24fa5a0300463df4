package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/baseline"
	"github.com/redline-go/redline/lab/profile/profiletest"
	"github.com/redline-go/redline/lab/profile/tree"
)

// vector is a measurement of six windows: of the texts in turn.
func vector(t *testing.T, kind string, texts ...string) *baseline.Vector {
	t.Helper()
	value := kind
	if kind == "mutex" {
		value = "delay"
	}
	var windows []baseline.Window
	for i := range 6 {
		p := profiletest.Of(value, "nanoseconds", texts[i%len(texts)])
		profile.Window{Seconds: 2, Requests: 10}.Mark(p)
		w := baseline.Window{Kind: kind}
		var err error
		if w.Samples, err = tree.Read(p, 1, ""); err != nil {
			t.Fatal(err)
		}
		if kind == "mutex" {
			if w.Events, err = tree.Read(p, 0, ""); err != nil {
				t.Fatal(err)
			}
		}
		windows = append(windows, w)
	}
	metrics, err := baseline.Measure(windows)
	if err != nil {
		t.Fatal(err)
	}
	return &baseline.Vector{Metrics: metrics}
}

// A function that is large in some windows of equal runs has not grown.
func TestEqualRuns(t *testing.T) {
	list, err := Parse([]byte(Builtin))
	if err != nil {
		t.Fatal(err)
	}
	const small, large = "main.f 1\nmain.g 99\n", "main.f 30\nmain.g 70\n"
	before := vector(t, "cpu", small, small, small, small, large, small)
	now := vector(t, "cpu", large, large, small, large, large, small)
	if was, is := before.Metrics["cpu"].Functions["main.f"].Flat.Value, now.Metrics["cpu"].Functions["main.f"].Flat.Value; is < 2*was {
		t.Fatalf("%v and %v are no example: they do not seem to have doubled", was, is)
	}
	if found, _ := Apply(list, before, now); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestBuiltin(t *testing.T) {
	list, err := Parse([]byte(Builtin))
	if err != nil {
		t.Fatal(err)
	}
	before := vector(t, "cpu", "main.f 10\nmain.g 90\n")
	for name, c := range map[string]struct {
		now  *baseline.Vector
		want []string
	}{
		"alloc":  {vector(t, "cpu", "main.g;runtime.mallocgc 45\nmain.g 55\n"), []string{"allocation: alloc: 45.0 % of cpu, more than 40%"}},
		"quiet":  {vector(t, "cpu", "main.g;runtime.mallocgc 35\nmain.g 65\n"), nil},
		"twice":  {vector(t, "cpu", "main.f 25\nmain.g 75\n"), []string{"twice its baseline: main.f: its cost of a request is 2.5 times that of the baseline"}},
		"locked": {vector(t, "mutex", "main.f;sync.(*Mutex).Unlock 400000000\nmain.g 1000000\n"), []string{"long waits for a lock: main.f: 400ms an event, longer than 300ms", "long waits for a lock: sync.(*Mutex).Unlock: 400ms an event, longer than 300ms"}},
	} {
		found, missing := Apply(list, before, c.now)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s: %s: %s", f.Rule, f.Name, f.Text))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if len(missing) == 0 {
			t.Errorf("%s: no rule was left out", name)
		}
	}
	_, missing := Apply(list, nil, before)
	if !slices.Contains(missing, "twice its baseline: it needs a baseline") || !slices.Contains(missing, "long waits for a lock: no mutex profile was taken; add it to --kind") {
		t.Errorf("%q", missing)
	}
}

// A rule reports its largest findings only.
func TestApplyMany(t *testing.T) {
	list, err := Parse([]byte("rules: [{name: n, metric: cpu, function: ., value: flat, more_than: 1%}]"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "main.f%02d %d\n", i, 100+i)
	}
	found, _ := Apply(list, nil, vector(t, "cpu", text.String()))
	if len(found) != mostFindings || found[0].Name != "main.f19" {
		t.Errorf("%v", found)
	}
}

func TestParseRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":            "the file has 0 rules",
		"rules: []":   "the file has 0 rules",
		"rulez: []":   "field rulez not found",
		"rules: [{}]": "want a name and a metric",
		"rules: [{name: a, metric: cpu, more_than: 4%}]":                                        "want a purpose or a function",
		"rules: [{name: a, metric: cpu, purpose: alloc, function: x, more_than: 4%}]":           "want a purpose or a function",
		"rules: [{name: a, metric: cpu, purpose: soup, more_than: 4%}]":                         `purpose "soup": want one of gc, alloc`,
		"rules: [{name: a, metric: cpu, function: '(', more_than: 4%}]":                         "function: error parsing regexp",
		"rules: [{name: a, metric: cpu, function: x}]":                                          "want one of more_than, times and longer",
		"rules: [{name: a, metric: cpu, function: x, times: 2, longer: 1s}]":                    "want one of more_than, times and longer",
		"rules: [{name: a, metric: cpu, function: x, times: 0.5}]":                              "want more than 1",
		"rules: [{name: a, metric: cpu, function: x, times: .nan}]":                             "want more than 1",
		"rules: [{name: a, metric: cpu, function: x, longer: 300}]":                             "want a time, such as 300ms",
		"rules: [{name: a, metric: cpu, function: x, more_than: 40}]":                           "want a share from 0% to 100%",
		"rules: [{name: a, metric: cpu, function: x, more_than: 140%}]":                         "want a share from 0% to 100%",
		"rules: [{name: a, metric: cpu, function: x, more_than: 4%, value: all}]":               "want flat or cum",
		"rules: [{name: a, metric: cpu, function: x, more_than: 4%, at_least: x}]":              "at_least",
		"rules: [{name: a, metric: cpu, function: x, more_than: 4%, nothing: x}]":               "field nothing not found",
		"rules:\n" + strings.Repeat(" - {name: a, metric: cpu, function: x, times: 2}\n", 1001): "the file has 1001 rules",
		strings.Repeat(" ", MaxFile+1):                                                          "has at most",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse has no file that makes the parser panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(Builtin))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = Parse(text) })
}
