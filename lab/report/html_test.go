package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/results"
)

func htmlOf(t *testing.T, f *results.File) string {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// markup returns the page without its own script and style.
func markup(t *testing.T, page string) string {
	t.Helper()
	rest := strings.Replace(strings.Replace(page, web.Script, "", 1), web.Style, "", 1)
	if len(page)-len(rest) != len(web.Script)+len(web.Style) {
		t.Fatal("the page does not contain script and style unchanged: the policy's hashes are wrong")
	}
	return rest
}

func TestHTMLEscapes(t *testing.T) {
	f := sample.File()
	bad := `</script></style></title>"'><script>window.pwned=1</script><img src=x onerror=alert(1)>` + "\u2028"
	// All fields that are text.
	f.Tool, f.Partial, f.Command = bad, bad, []string{bad}
	f.Machine.CPU, f.Machine.Commit, f.Config.Mode, f.Config.Changes = bad, bad, bad, []string{bad}
	f.Gates[0].Passed, f.Gates[0].Name, f.Gates[0].Text = false, bad, bad
	f.Workloads[0].Title, f.Workloads[0].Unit, f.Workloads[0].Path = bad, bad, bad
	for i := range f.Comparisons {
		f.Comparisons[i].Reason, f.Comparisons[i].Baseline = bad, bad
		f.Comparisons[i].Verdict = results.Verdict(bad)
	}
	for i := range f.Cells {
		if f.Cells[i].Subject == "redline" {
			f.Cells[i].Subject = bad
		}
	}
	f.Subjects[2].Name, f.Subjects[2].Role = bad, bad
	for i := range f.Runs {
		f.Runs[i].ID = bad
		if f.Runs[i].Failed != "" {
			f.Runs[i].Failed, f.Runs[i].Stderr = bad, bad
		}
	}
	page := markup(t, htmlOf(t, f))
	if n := strings.Count(page, "<script"); n != 3 {
		t.Errorf("%d script elements, want 3", n)
	}
	if n := strings.Count(page, "</script"); n != 3 {
		t.Errorf("%d ends of script, want 3", n)
	}
	for _, s := range []string{"<img", "</style></title>", "<script>window", "\u2028"} {
		if strings.Contains(page, s) {
			t.Errorf("the page contains %q", s)
		}
	}
	if !strings.Contains(page, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Error("the hostile text is not shown at all")
	}
	if regexp.MustCompile(`ZgotmplZ`).MatchString(page) {
		t.Error("html/template refused a value")
	}
}

func element(t *testing.T, page, id string) []byte {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="` + id + `">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no element %s", id)
	}
	return []byte(m[1])
}

func TestHTMLHoldsResults(t *testing.T) {
	f := sample.File()
	page := htmlOf(t, f)
	var packed []byte // a JSON string of base64 decodes into bytes
	if err := json.Unmarshal(element(t, page, "results"), &packed); err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	got := new(results.File)
	if err := json.NewDecoder(gz).Decode(got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, portable(f)) {
		t.Error("the results in the page differ from those it was made of")
	}
	if !reflect.DeepEqual(f, sample.File()) {
		t.Error("the page has changed the results")
	}
	if got.Runs[0].Latency.Histogram != "" || got.Cells[0].Latency.Histogram == "" || len(got.Runs[0].Series) == 0 {
		t.Error("want the histograms of cells, not of runs, and the series")
	}
	if most := 3 << 20; len(page) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(page), most)
	}
	var v view
	if err := json.Unmarshal(element(t, page, "view"), &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Workloads) != 3 || len(v.Subjects) != 10 {
		t.Errorf("view of %d workloads and %d subjects", len(v.Workloads), len(v.Subjects))
	}
}

func TestHTMLIsReproducible(t *testing.T) {
	first, second := htmlOf(t, sample.File()), htmlOf(t, sample.File())
	if first != second {
		t.Error("the same results gave two different pages")
	}
}

func TestHTMLOfNothing(t *testing.T) {
	page := htmlOf(t, &results.File{})
	if !strings.Contains(page, "0 servers, 0 workloads") {
		t.Error("no title")
	}
	if strings.Contains(string(element(t, page, "view")), "null") {
		t.Error("the view has a null list: the script would stumble")
	}
	// A workload without measurements has a view, too.
	f := &results.File{Workloads: []results.Workload{{Name: "w"}}, Subjects: []results.Subject{{Name: "s"}}}
	page = htmlOf(t, f)
	if want := `"bars":[],"limit":null,"curves":[],"grid":{"step":0,"per_block":0,"blocks":[]},"lines":[],` +
		`"heat":{"first":0,"edges":[],"max":0,"subjects":[]}`; !strings.Contains(page, want) {
		t.Errorf("view %s", element(t, page, "view"))
	}
}

// TestHTMLNeedsNothing checks that the page has nothing that a browser would fetch.
func TestHTMLNeedsNothing(t *testing.T) {
	page := markup(t, htmlOf(t, sample.File()))
	if m := regexp.MustCompile(`(?i)<(link|img|iframe|object|embed|base|form)\b|\b(src|srcset|action|formaction)="`).FindString(page); m != "" {
		t.Errorf("the page has %q", m)
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("the page links to %q", m[1])
		}
	}
	if m := regexp.MustCompile(`(?i)@import|url\(`).FindString(web.Style); m != "" {
		t.Errorf("the style has %q", m)
	}
	if strings.Contains(strings.ToLower(web.Script), "</script") || strings.Contains(web.Script, "<!--") {
		t.Error("the script would end its element")
	}
	if strings.Contains(strings.ToLower(web.Style), "</style") {
		t.Error("the style would end its element")
	}
}

func TestBundleCarriesLicences(t *testing.T) {
	for _, s := range []string{"Apache ECharts", "The Apache Software Foundation", "Copyright (c) 2017, Baidu Inc."} {
		if !strings.Contains(web.Script[:4096], s) {
			t.Errorf("the script's banner lacks %q", s)
		}
	}
	for _, name := range []string{"LICENSE.echarts", "NOTICE.echarts", "LICENSE.zrender"} {
		if data, err := os.ReadFile("web/dist/" + name); err != nil || len(data) < 100 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	lock, err := os.ReadFile("web/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), `"resolved"`) {
		t.Error("package-lock.json names addresses: see .npmrc")
	}
}

func TestPolicy(t *testing.T) {
	p := web.Policy()
	hash := regexp.MustCompile(`'sha256-([A-Za-z0-9+/]+=)'`)
	if m := hash.FindAllStringSubmatch(p, -1); len(m) != 2 {
		t.Fatalf("policy %s", p)
	} else if sum, err := base64.StdEncoding.DecodeString(m[0][1]); err != nil || len(sum) != 32 {
		t.Errorf("hash %s: %v", m[0][1], err)
	}
	if want := "default-src 'none'; script-src H; style-src H; base-uri 'none'; form-action 'none'"; hash.ReplaceAllString(p, "H") != want {
		t.Errorf("policy %s", p)
	}
}
