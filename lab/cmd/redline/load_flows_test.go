package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/present"
)

// crowdOf is a file with two concurrent scenarios.
const crowdOf = `
base: http://127.0.0.1:1
setup: [{name: login, url: /login}]
scenarios:
  - name: browse
    weight: 3
    targets: [{name: home, url: /home, tags: {kind: read}}, {name: item, url: /item, tags: {kind: read}}]
  - name: buy
    flows: [{name: checkout, tags: {kind: write}, steps: [{name: cart, url: /cart, think: 1ms}, {name: pay, url: /pay}]}]
`

// Flows, tags and concurrent scenarios have the same results for every kind of load.
func TestLoadFlows(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	secure := httptest.NewUnstartedServer(answer)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	clear := httptest.NewServer(answer)
	defer clear.Close()
	file := textFile(t, "crowd.yaml", crowdOf)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"closed loop", []string{clear.URL}},
		{"open loop", []string{"-r", "400", clear.URL}},
		{"workers", []string{"--workers", "2", clear.URL}},
		{"HTTP/2 over TLS", []string{"--http2", "--streams", "2", "--insecure", "--workers", "2", secure.URL}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "HTTP/2 over TLS" {
				once(t)
			}
			args := []string{
				"-c", "4", "--targets", file, "--threshold", "iteration.p50<1h,iteration.p50{buy/checkout}<1h,errors{scenario=browse}<1",
				"--threshold", "p50{kind=write}<1ns", "--json", "-",
			}
			code, out, said := loadOf(t, t.Context(), short(append(args, c.args...)...)...)
			d := documentOf(t, out)
			if code != 3 || len(d.Errors) > 0 || len(d.Thresholds) != 4 || d.Thresholds[3].Kept || !d.Thresholds[2].Kept {
				t.Fatalf("exit code %d, errors %v, thresholds %+v, %s", code, d.Errors, d.Thresholds, said)
			}
			checkFlows(t, &d)
			for _, want := range []string{"\niterations  ", "\nits answers ", "\nkind=read ", "\nscenario=buy "} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in\n%s", want, said)
				}
			}
		})
	}
}

// checkFlows compares the sums of a run of crowdOf with its targets.
func checkFlows(t *testing.T, d *present.Document) {
	t.Helper()
	right, samples := map[string]uint64{}, map[string]uint64{}
	for _, target := range d.Targets {
		right[target.Name], samples[target.Name] = target.Requests, target.Latency.Count
	}
	for _, tag := range d.Tags {
		names := map[string][]string{
			"kind=read": {"browse/home", "browse/item"}, "scenario=browse": {"browse/home", "browse/item"},
			"kind=write": {"buy/checkout/cart", "buy/checkout/pay"}, "scenario=buy": {"buy/checkout/cart", "buy/checkout/pay"},
		}[tag.Name+"="+tag.Value]
		var requests, latencies uint64
		for _, name := range names {
			requests, latencies = requests+right[name], latencies+samples[name]
		}
		if len(names) == 0 || tag.Requests != requests || tag.Latency.Count != latencies || requests == 0 || tag.Errors != 0 {
			t.Errorf("tag %+v of targets with %v", tag, right)
		}
	}
	i := d.Iterations
	if len(d.Tags) != 4 || i == nil || len(i.Flows) != 1 || i.Flows[0].Name != "buy/checkout" || i.Completed != i.Time.Count || i.Completed != i.WithoutThink.Count {
		t.Fatalf("%d tags, iterations %+v", len(d.Tags), i)
	}
	if pay := right["buy/checkout/pay"]; i.Completed != pay || i.Aborted != 0 || 1.07*i.Time.MeanUs < i.WithoutThink.MeanUs+1000 { // each histogram rounds by up to 3 %
		t.Errorf("iterations %+v of %d payments", i, pay)
	}
}

// The series, the summary and the CSV have the users of a ramp, which all workers share.
func TestLoadRamp(t *testing.T) {
	url, _ := serve(t, hello)
	for name, more := range map[string][]string{"one": nil, "workers": {"--workers", "2"}, "HTTP/2": {"--http2", "--streams", "2"}} {
		t.Run(name, func(t *testing.T) {
			if name != "workers" {
				once(t)
			}
			csv := filepath.Join(t.TempDir(), "run.csv")
			half := pace.Window(t200)
			args := append([]string{"-c", "2", "--ramp", "0s:8," + half.String() + ":8,0s:3," + half.String() + ":3", "--warmup", "100ms", "--allow-invalid", "--json", "-", "--csv", csv}, more...)
			code, out, said := loadOf(t, t.Context(), append(args, url)...)
			d := documentOf(t, out)
			if code != 0 || len(d.Errors) > 0 || d.Unanswered > 0 || d.Config.Connections != 8 || d.Config.DurationSeconds != (2*half).Seconds() {
				t.Fatalf("exit code %d, errors %v, %+v, %s", code, d.Errors, d.Config, said)
			}
			most, last := 0, d.Series[len(d.Series)-1].Users
			for _, p := range d.Series {
				most = max(most, p.Users)
			}
			if steps := d.RampSteps; len(steps) != 2 || steps[0].Connections() != "8" || steps[1].Connections() != "3" || steps[0].Requests+steps[1].Requests != d.Requests {
				t.Errorf("steps %+v of %d requests", steps, d.Requests)
			}
			streams := max(d.Config.Streams, 1)
			if most > 8*streams || most <= 3*streams || last >= most {
				t.Errorf("at most %d users, %d at the end", most, last)
			}
			text, err := os.ReadFile(csv)
			if head, _, _ := strings.Cut(string(text), "\n"); err != nil || !strings.HasSuffix(head, ",users") {
				t.Errorf("CSV %s, %v", head, err)
			}
			if want := "up to 8 connections (2, then 0s:8,"; !strings.Contains(said, want) {
				t.Errorf("%q is not in\n%s", want, said)
			}
		})
	}
}

func TestLoadRampUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--ramp", "soon", url}, `--ramp soon: step "soon" has no colon: write DURATION:CONNECTIONS`},
		{[]string{"--ramp", "1s:0", url}, "--ramp 1s:0: there are no users throughout; write how many there are"},
		{[]string{"--ramp", "1ms:5", url}, "--ramp 1ms:5: it lasts 1ms; want at least 100ms, or give --duration"},
		{[]string{"--ramp", "1s:5", "-r", "10", url}, "--ramp changes the number of connections of a closed loop, and --rate makes an open one"},
		{[]string{"--ramp", "1s:5", "--stages", "1s:10", url}, "and --stages makes an open one"},
		{[]string{"--ramp", "1s:5", "--find", "p99<1s", url}, "and --find makes an open one"},
		{[]string{"--ramp", "1s:5", "--sse", url}, "--ramp is for requests, and --sse for subscribers"},
		{[]string{"--ramp", "1s:5", "--try", url}, "--ramp with --try: --try measures nothing"},
		{[]string{"--ramp", "1s:5", "--workers", "6", url}, "--workers 6 and --connections 5: want at least one connection for each worker"},
		{[]string{"--ramp", "1s:5", "--slow-connections", "6", "--slow-read", "1KiB", url}, "--slow-connections 6: want 1 to 5"},
	} {
		if code, _, said := loadOf(t, t.Context(), c.args...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q; want 2, %q", c.args, code, said, c.want)
		}
	}
}
