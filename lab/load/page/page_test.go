package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/page/internal/sample"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report/web"
)

func runOf(t *testing.T, kind string) *present.Document {
	t.Helper()
	d, err := sample.Run(kind)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// markup returns the page of a run without its script and style.
func markup(t *testing.T, d *present.Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, d); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	rest := strings.Replace(strings.Replace(text, web.Script, "", 1), web.Style, "", 1)
	if len(text)-len(rest) != len(web.Script)+len(web.Style) {
		t.Fatal("the page does not contain script and style unchanged: the policy's hashes are wrong")
	}
	return rest
}

// element returns a data element of the page.
func element(t *testing.T, page, id string) []byte {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="` + id + `">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no element %s", id)
	}
	return []byte(m[1])
}

// plots returns the names of a page's charts, in order.
func plots(page string) (names []string) {
	for _, m := range regexp.MustCompile(`data-plot="([a-z]+)"`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

// noNumber matches NaN outside of base64, which may contain it by chance.
var noNumber = regexp.MustCompile(`(?:^|[^A-Za-z0-9+/])NaN(?:$|[^A-Za-z0-9+/=])`)

// The page of each kind of run has its charts and tables.
func TestPage(t *testing.T) {
	for _, c := range []struct {
		kind  string
		plots string
		want  []string
	}{
		{"closed", "rate errors times disturbance flight cpu rss latency heat", []string{"<strong>VALID</strong>", `<td class="kept">kept</td>`, "closed loop", "first byte", "In flight", "on average; 64 at most, of ", "there can be ", "redline load http://127.0.0.1:8080/hello"}},
		{"open", "rate errors times disturbance waiting flight cpu rss latency heat", []string{"of 2.00k/s asked for", "never had an answer", "service", "send lag", "due"}},
		{"stream", "rate errors times disturbance standing gap missed cpu rss latency heat", []string{
			"<strong>INVALID</strong>", "991 of 1000 subscribers were connected", "limits of connections and descriptors", "BROKEN", "Delay p99", "it is 20",
		}},
		{"find", "rate errors times disturbance waiting flight cpu rss latency heat", []string{"<strong>FOUND</strong> Highest rate: 2000/s", "Steps of the search", "it is 31.0 ms", `<td class="kept">kept</td>`}},
		{"scenario", "rate errors times disturbance targetrate targettimes flight cpu rss latency heat", []string{"shop.yaml at http://", "<td>buy/pay</td>", "2 status 201", "Requests of the scenario", "Requests by tag", "<td>kind</td>", "Rate by target", "Of each target", `"name":"buy/pay","look":"first"`, "one pass of a user through a flow", "iteration, without think time"}},
		{"workers", "rate errors times disturbance flight cpu rss goroutines heap gc sched latency heat", []string{"Generators; the figures are their sum", "rack-4", "it stopped responding", "16.5", "CPUs of the generators are in their table", "was refused"}},
		{"ramp", "rate errors times disturbance users flight cpu rss latency heat", []string{"up to 64 connections (0, then 5s:64,5s:0)", "Each has a connection", "Steps of the ramp", "<td>64→0</td>", `"bounds":[5]`}},
		{"bare", "rate errors times flight cpu latency heat", []string{"name them with --pid"}},
		{"nothing", "", []string{"no answers in the window.", "curl -v"}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			text := markup(t, runOf(t, c.kind))
			if got := strings.Join(plots(text), " "); got != c.plots {
				t.Errorf("plots %s, want %s", got, c.plots)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			for _, absent := range []string{"baseline", "block ", "blocks", "noise floor", "ZgotmplZ"} {
				if strings.Contains(text, absent) {
					t.Errorf("the page has %q", absent)
				}
			}
			if at := noNumber.FindString(text); at != "" {
				t.Errorf("the page has %q", at)
			}
			if strings.Contains(string(element(t, text, "view")), `"lines":null`) || strings.Contains(string(element(t, text, "view")), `"columns":null`) {
				t.Error("the view has a null list, which the script does not support")
			}
		})
	}
}

// Failed gates, with advice, precede the figures.
func TestPageOrder(t *testing.T) {
	text := markup(t, runOf(t, "stream"))
	last := -1
	for _, part := range []string{"<strong>INVALID</strong>", `class="gates"`, "<caption>Thresholds</caption>", `class="figures"`, `data-plot="rate"`, `data-plot="latency"`, `data-plot="heat"`, `class="facts"`} {
		at := strings.Index(text, part)
		if at <= last {
			t.Errorf("%s is at %d, before what must precede it", part, at)
		}
		last = at
	}
}

func TestPageEscapes(t *testing.T) {
	for _, kind := range sample.Kinds {
		d := runOf(t, kind)
		sample.Spoil(d)
		text := markup(t, d)
		if n, m := strings.Count(text, "<script"), strings.Count(text, "</script"); n != 3 || m != 3 {
			t.Errorf("%s: %d elements of script, %d ends; want 3", kind, n, m)
		}
		for _, s := range []string{"<img", "</style></title>", "<script>window", "\u2028", "\x1b", "ZgotmplZ"} {
			if strings.Contains(text, s) {
				t.Errorf("%s: the page holds %q", kind, s)
			}
		}
		if !strings.Contains(text, "&lt;img src=x onerror=alert(1)&gt;") {
			t.Errorf("%s: the hostile text is not shown at all", kind)
		}
	}
}

// TestPageNeedsNothing checks that the page has nothing that a browser would fetch.
func TestPageNeedsNothing(t *testing.T) {
	text := markup(t, runOf(t, "open"))
	if m := regexp.MustCompile(`(?i)<(link|img|iframe|object|embed|base|form)\b|\b(src|srcset|action|href|style)="`).FindString(text); m != "" {
		t.Errorf("the page has %q", m)
	}
	if !strings.Contains(text, "default-src &#39;none&#39;") {
		t.Error("the page has no policy")
	}
}

// The page contains the run, from which it can be rendered again.
func TestPageHoldsRun(t *testing.T) {
	d := runOf(t, "open")
	first := markup(t, d)
	var packed []byte // a JSON string of base64 decodes into bytes
	if err := json.Unmarshal(element(t, first, "results"), &packed); err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	back := new(present.Document)
	if err := json.NewDecoder(gz).Decode(back); err != nil {
		t.Fatal(err)
	}
	if second := markup(t, back); second != first {
		t.Error("the page made of the run in the page is another one")
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestPageErrors(t *testing.T) {
	if err := Write(broken{}, runOf(t, "closed")); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	d := runOf(t, "closed")
	d.Latency.Histogram = "none"
	if err := Write(new(bytes.Buffer), d); err == nil || !strings.Contains(err.Error(), "make page: ") {
		t.Errorf("error %v of a damaged histogram", err)
	}
}

func TestThresholdsAreShown(t *testing.T) {
	d := runOf(t, "stream")
	rows := thresholds(d).Rows
	if len(rows) != 2 || rows[1][1].Text != "BROKEN" || !slices.ContainsFunc(rows[1], func(c web.Cell) bool { return c.Text == "it is 20" }) {
		t.Errorf("%+v", rows)
	}
}

// The steps of stages have a table, and lines in the charts over time.
func TestPageSteps(t *testing.T) {
	d := runOf(t, "open")
	cpu := 0.25
	for i := range 3 {
		d.Steps = append(d.Steps, present.Step{From: float64(3 * i), To: float64(3*i + 3), End: 500, Asked: 250, Achieved: 249, Due: 750, Right: 740, Failed: 7, Unfinished: 3, Latency: d.Latency, ServerCPU: &cpu})
	}
	text := markup(t, d)
	for _, want := range []string{"Steps of the arrivals.", "<td>3s–6s</td>", "<td>0→500/s</td>", `"bounds":[3,6]`, "CPU is the server"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for range maxBounds {
		d.Steps = append(d.Steps, d.Steps[1])
	}
	if text := markup(t, d); !strings.Contains(text, `"bounds":[]`) {
		t.Error("there are lines for more steps than can be distinguished")
	}
}

// A chart has as many targets as there are colours: those with the most requests.
func TestPageTargets(t *testing.T) {
	d := runOf(t, "scenario")
	for i := range 10 {
		target := d.Targets[1]
		target.Name, target.Requests = fmt.Sprintf("more %d", i), uint64(100+i)
		d.Targets = append(d.Targets, target)
	}
	for i := range d.Series {
		for len(d.Series[i].Targets) < len(d.Targets) {
			d.Series[i].Targets = append(d.Series[i].Targets, present.TargetPoint{Rate: 1, P50Us: 10, P99Us: 20})
		}
	}
	text := markup(t, d)
	for want, there := range map[string]bool{"Of the 8 targets with the most requests, of 12": true, `"name":"more 9"`: true, `"name":"more 3"`: false} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q on the page: want %v", want, there)
		}
	}
}
