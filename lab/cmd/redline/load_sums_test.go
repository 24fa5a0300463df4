package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
)

// checkSums holds the counts of a document to what they say that they add up to.
func checkSums(t *testing.T, d *present.Document) {
	t.Helper()
	equal := func(what string, got, want uint64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	equal("right and wrong answers", d.Requests+d.Wrong, d.Answers)
	kinds := results.CountErrors(d.Errors) + d.Unanswered + d.AfterWindow - d.NoArrival
	right := d.Requests
	if o := d.Open; o != nil {
		kinds += o.Unfinished
		right = o.Due - o.Failed - o.Unfinished
		equal("latencies", d.Latency.Count, right+o.Unfinished+d.TimedOut)
		equal("service times", o.Service.Count, right)
	}
	equal("errors by kind", kinds, d.Failing)
	if len(d.Targets) > 0 {
		var requests uint64
		failures := d.NoTarget
		for _, target := range d.Targets {
			equal("failures of "+target.Name, target.Failed, target.Errors+results.CountErrors(target.Checks))
			if !target.Setup {
				requests, failures = requests+target.Requests, failures+target.Failed
			}
		}
		equal("right answers by target", requests, right)
		equal("failures by target", failures, d.Failing)
	}
	if len(d.Steps) > 0 {
		var due, answered, failed, unfinished uint64
		for _, s := range d.Steps {
			equal("arrivals of a step", s.Due, s.Right+s.Failed+s.Unfinished)
			due, answered, failed, unfinished = due+s.Due, answered+s.Answered, failed+s.Failed, unfinished+s.Unfinished
		}
		equal("due by step", due, d.Open.Due)
		equal("answers by step", answered, d.Requests)
		equal("failed by step", failed, d.Open.Failed)
		equal("unfinished by step", unfinished, d.Open.Unfinished)
	}
	if len(d.Workers) > 0 {
		var requests, errors uint64
		for _, w := range d.Workers {
			requests, errors = requests+w.Requests, errors+results.CountErrors(w.Errors)
		}
		equal("right answers by worker", requests, d.Requests)
		equal("errors by worker", errors, results.CountErrors(d.Errors))
	}
}

// checkText holds the text of a run to its JSON.
func checkText(t *testing.T, d *present.Document, text string) {
	t.Helper()
	find := func(pattern string) uint64 {
		t.Helper()
		m := regexp.MustCompile("(?m)" + pattern).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("no %s in\n%s", pattern, text)
			return 0
		}
		n, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if got := find(`^errors +(\d+), `); got != d.Failing {
		t.Errorf("errors %d in the text, %d in the JSON", got, d.Failing)
	}
	if d.Wrong > 0 {
		if got := find(`^answers +\d+ = \d+ right \+ (\d+) wrong`); got != d.Wrong {
			t.Errorf("wrong %d in the text, %d in the JSON", got, d.Wrong)
		}
	}
	for _, target := range d.Targets {
		if got := find(fmt.Sprintf(`^%s +%d +(\d+) `, regexp.QuoteMeta(target.Name), target.Requests)); got != target.Failed {
			t.Errorf("%s: errors %d in the text, %d in the JSON", target.Name, got, target.Failed)
		}
	}
	if d.NoTarget > 0 {
		if got := find(`^no target +– +(\d+)(?: +–)*$`); got != d.NoTarget {
			t.Errorf("errors without a target: %d in the text, %d in the JSON", got, d.NoTarget)
		}
	}
}

// mixed returns a run that has right answers and failures. A machine that stalls may leave a short window
// without one of them, and a window that ends after a number of requests has none that end after it.
func mixed(t *testing.T, args []string) (d present.Document, said string) {
	t.Helper()
	for range 5 {
		_, out, said := loadOf(t, t.Context(), args...)
		if out == "" {
			t.Fatal(said)
		}
		if d = documentOf(t, out); d.Failing > 0 && d.Requests > 0 {
			return d, said
		}
	}
	t.Fatalf("%d right, %d failed: nothing is shown", d.Requests, d.Failing)
	return d, ""
}

// The lines of a summary, and the counts of its JSON, add up and agree, whatever goes wrong
// with a run of whatever kind.
func TestLoadSums(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request, n int64) {
		switch {
		case n%7 == 5:
			w.WriteHeader(http.StatusServiceUnavailable)
		case n%11 == 9:
			panic(http.ErrAbortHandler)
		}
		hello(w, r, n)
	}
	file := textFile(t, "sums.yaml", "targets:\n  - {name: home, url: /, weight: 3}\n  - {name: pay, url: /pay, method: POST, body: x, weight: 1, checks: [{status: 200}]}\n")
	for name, args := range map[string][]string{
		"closed":   {"URL"},
		"open":     {"-r", "400", "URL"},
		"stages":   {"-r", "100", "--stages", "200ms:600,0s:300,200ms:300", "-d", "500ms", "URL"},
		"scenario": {"--targets", file, "URL"},
		"mixture":  {"--targets", file, "-r", "400", "--arrivals", "poisson", "URL"},
		"ramp":     {"--targets", file, "--stages", "300ms:600,200ms:0", "--workers", "2", "URL"},
		"workers":  {"--targets", file, "--workers", "2", "URL"},
		"users":    {"--targets", file, "--think", "1ms", "--requests-per-connection", "5", "URL"},
		"late":     {"--targets", file, "-r", "3000", "-c", "2", "--think", "5ms", "--timeout", "300ms", "URL"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "ramp" {
				once(t)
			}
			url, _ := serve(t, handler)
			args[len(args)-1] = url
			args = append([]string{"--status", "200", "--keep-going", "--json", "-"}, args...)
			if strings.Contains(strings.Join(args, " "), "--targets") {
				args = args[2:]
			}
			d, said := mixed(t, short(args...))
			checkSums(t, &d)
			checkText(t, &d, said)
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}
