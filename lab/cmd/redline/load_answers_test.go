package main

import (
	"encoding/xml"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// TestLoadShowsAnswers names the statuses and sizes of answers, and says when those to one request vary.
func TestLoadShowsAnswers(t *testing.T) {
	for name, more := range map[string][]string{"HTTP/1.1": nil, "HTTP/2": {"--http2"}, "open": {"-r", "500"}, "two workers": {"--workers", "2"}} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request, n int64) {
				w.Header().Set("Location", "/login")
				w.WriteHeader(http.StatusFound)
				if n%10 == 0 {
					_, _ = w.Write([]byte("error: database is down"))
					return
				}
				_, _ = w.Write([]byte("hello"))
			})
			_, out, said := loadOf(t, t.Context(), append(more, "-c", "4", "-n", "200", "--allow-invalid", "--json", "-", url)...)
			d := documentOf(t, out)
			want := d.Answers
			if o := d.Open; o != nil { // some may come after the window
				want = o.Due - o.Failed - o.Unfinished
			}
			if d.Statuses["302"] != want || d.Bodies == nil || d.Bodies.Min != 5 || d.Bodies.Max != 23 || d.Bodies.Count != want {
				t.Errorf("statuses %v, bodies %+v of %d answers", d.Statuses, d.Bodies, want)
			}
			if !strings.Contains(said, "of status 302") || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "had right answers of 5 to 23 bytes") }) {
				t.Errorf("notes %q; %s", d.Notes, said)
			}
		})
	}
}

// TestLoadStallIsNotFast gives the points of a stall the ages of what waits, and not a p99 of 0.
func TestLoadStallIsNotFast(t *testing.T) {
	for name, more := range map[string][]string{"closed": nil, "open": {"-r", "500"}, "HTTP/2": {"--http2"}, "two workers": {"--workers", "2"}} {
		t.Run(name, func(t *testing.T) {
			var stalled atomic.Bool
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
				if n > 400 && stalled.CompareAndSwap(false, true) {
					time.AfterFunc(1500*time.Millisecond, func() { stalled.Store(false) })
				}
				for n > 400 && n < 800 && stalled.Load() {
					time.Sleep(10 * time.Millisecond)
				}
				hello(w, r, n)
			})
			_, out, _ := loadOf(t, t.Context(), append(more, "-c", "4", "-d", "3s", "--warmup", "0", "--json", "-", url)...)
			stall := 0
			for _, p := range documentOf(t, out).Series {
				if p.InFlight >= 3 && len(p.Heat) == 0 {
					if stall++; p.P50Us == 0 || p.P99Us < p.P50Us {
						t.Errorf("at %v: p50 %v, p99 %v, %v in flight", p.T, p.P50Us, p.P99Us, p.InFlight)
					}
				}
			}
			if stall == 0 {
				t.Error("no point without an answer")
			}
		})
	}
}

// TestLoadForCI writes what CI shows.
func TestLoadForCI(t *testing.T) {
	url, _ := serve(t, hello)
	dir := t.TempDir()
	junit, summary := filepath.Join(dir, "junit.xml"), filepath.Join(dir, "summary.md")
	code, _, said := loadOf(t, t.Context(), "-c", "4", "-n", "2000", "--threshold", "errors<1,errors>5", "--junit", junit, "--summary", summary, "--gates", url)
	if code != 3 && code != 4 {
		t.Errorf("exit code %d: %s", code, said)
	}
	var report struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal([]byte(read(t, junit)), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Cases) != 3 || report.Tests != 3 || report.Failures != 1 || report.Cases[1].Failure != nil || report.Cases[2].Failure == nil {
		t.Errorf("%+v", report)
	}
	if text := read(t, summary); !strings.Contains(text, "| errors&lt;1 | kept |") || !strings.Contains(text, "**broken**") {
		t.Error(text)
	}
}

// TestLoadShortIsValid does not doubt a run because it has few requests.
func TestLoadShortIsValid(t *testing.T) {
	url, _ := serve(t, hello)
	_, out, said := loadOf(t, t.Context(), "-c", "4", "-n", "2000", "--json", "-", url)
	d := documentOf(t, out)
	gates := slices.DeleteFunc(d.Failed(), func(g results.Gate) bool { return g.Name == "generator" }) // a slow machine may fill its core
	if !results.Valid(gates) || d.Requests != 2000 {
		t.Errorf("gates %v: %s", failed(d), said)
	}
}
