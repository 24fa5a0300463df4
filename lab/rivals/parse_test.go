package rivals

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func ptr(x float64) *float64 { return &x }

// The samples are shortened output of the tools.
func TestParse(t *testing.T) {
	dir := t.TempDir()
	log := "1795267201319457\t200\t2179\n1795267201319452\t200\t2206\n1795267201319443\t200\t901000\n1795267201319443\t-1\t1\n"
	if err := os.WriteFile(filepath.Join(dir, "requests.tsv"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		parse func(*Load, []byte) (Report, error)
		load  Load
		file  string
		want  Report
	}{
		{"redline", parseRedline, Load{}, "redline.json", Report{Requests: 10000, Errors: 3, Rate: 1000, P50: ptr(2.061), P99: ptr(1901.3), Max: ptr(2002.5)}},
		{"wrk", parseWrk, Load{}, "wrk.txt", Report{Requests: 23215, Errors: 2, Rate: 11607.5, P50: ptr(3.9), P99: ptr(390.8), Max: ptr(428)}},
		{"h2load", parseH2load, Load{}, "h2load.txt", Report{Requests: 55601, Errors: 3, Rate: 55604}},
		{"h2load with a log", parseH2load, Load{Rate: 100, Dir: dir}, "h2load.txt", Report{Requests: 55601, Errors: 3, Rate: 55604, P50: ptr(2.206), P99: ptr(901), Max: ptr(901)}},
		{"oha", parseOha, Load{}, "oha.json", Report{Requests: 9990, Errors: 4, Rate: 999.5, P50: ptr(2.1), P99: ptr(1900), Max: ptr(2004)}},
		{"bombardier", parseBombardier, Load{}, "bombardier.json", Report{Requests: 8050, Errors: 5, Rate: 805, P50: ptr(2.2), P99: ptr(4.5), Max: ptr(2003.1)}},
		{"vegeta", parseVegeta, Load{}, "vegeta.json", Report{Requests: 9998, Errors: 2, Rate: 999.8, P50: ptr(2.25), P99: ptr(1903), Max: ptr(2004)}},
		{"hey", parseHey, Load{}, "hey.txt", Report{Requests: 657, Errors: 9, Rate: 646.5038, P50: ptr(0.4), P99: ptr(58.2), Max: ptr(58.6)}},
		{"hey, other spelling", parseHey, Load{}, "hey-old.txt", Report{Requests: 657, Rate: 646.5038, P50: ptr(0.4), P99: ptr(58.2), Max: ptr(58.6)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.parse(&c.load, out)
			if err != nil {
				t.Fatal(err)
			}
			if got.Requests != c.want.Requests || got.Errors != c.want.Errors || !near(&got.Rate, &c.want.Rate) {
				t.Errorf("%d requests, %d errors, %g/s; want %+v", got.Requests, got.Errors, got.Rate, c.want)
			}
			if !near(got.P50, c.want.P50) || !near(got.P99, c.want.P99) || !near(got.Max, c.want.Max) {
				t.Errorf("p50 %s, p99 %s, max %s; want %s, %s, %s", ms(got.P50), ms(got.P99), ms(got.Max), ms(c.want.P50), ms(c.want.P99), ms(c.want.Max))
			}
		})
	}
}

// near allows for the rounding of a change of units.
func near(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a > *b*(1-1e-9) && *a < *b*(1+1e-9)
}

// Output that is not a report is an error, and never an empty report.
func TestParseRefuses(t *testing.T) {
	for _, tool := range catalogue("redline") {
		for _, text := range []string{"", "Segmentation fault\n", "{"} {
			if r, err := tool.parse(&Load{}, []byte(text)); err == nil || !strings.Contains(err.Error(), "read its report") {
				t.Errorf("%s of %q: %+v, %v", tool.Name, text, r, err)
			}
		}
	}
}

func TestParseH2loadWithoutItsLog(t *testing.T) {
	out, err := os.ReadFile(filepath.Join("testdata", "h2load.txt"))
	if err != nil {
		t.Fatal(err)
	}
	l := Load{Rate: 100, Dir: t.TempDir()}
	if _, err := parseH2load(&l, out); err == nil || !strings.Contains(err.Error(), "read its log") {
		t.Errorf("without a log: %v", err)
	}
	if err := os.WriteFile(h2loadLog(&l), []byte("1 200 fast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := parseH2load(&l, out); err == nil || !strings.Contains(err.Error(), `"1 200 fast"`) {
		t.Errorf("with a damaged log: %v", err)
	}
}
