package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/compare"
)

// madeRun writes a run with the given number of time slices to a file in dir. Its rate is
// lower by the share slower; more is appended to the fields of its JSON.
func madeRun(t *testing.T, dir, name string, slices int, slower float64, more string) string {
	t.Helper()
	var series []string
	for i := range slices {
		rate := 1000.0 - slower*1000 + float64(i%5)
		series = append(series, fmt.Sprintf(`{"t":%g,"rate":%g}`, 0.2*float64(i+1), rate))
	}
	text := fmt.Sprintf(`{"schema":"redline.load","version":1,"url":"http://127.0.0.1:8080/x","config":{"method":"GET","connections":3},"seconds":%g,"requests":1000,"requests_per_second":%g,"series":[%s]%s}`,
		0.2*float64(slices), 1002-slower*1000, strings.Join(series, ","), more)
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCompareVerb(t *testing.T) {
	once(t)
	dir := t.TempDir()
	valid := `,"valid":true`
	a, same := madeRun(t, dir, "a.json", 50, 0, valid), madeRun(t, dir, "same.json", 60, 0, valid)
	slow, short := madeRun(t, dir, "slow.json", 50, 0.2, valid), madeRun(t, dir, "short.json", 5, 0.2, valid)
	doubtful := madeRun(t, dir, "doubtful.json", 50, 0, `,"gates":[{"name":"steal","text":"the hypervisor took 9 %"}]`)
	other := madeRun(t, dir, "other.json", 50, 0, valid+`,"open":{}`)
	for _, c := range []struct {
		args []string
		code int
		want string // in standard output or standard error
	}{
		{[]string{a, same}, 0, "no difference shown"},
		{[]string{a, slow}, 0, "worse"},
		{[]string{slow, a}, 0, "better"},
		{[]string{a, short}, 0, "the shorter window has 5 slices of time, but 20 are required"},
		{[]string{"--threshold", "rate>-5%", a, slow}, 3, "BROKEN  rate>-5%: it is -20.0 %"},
		{[]string{"--threshold", "rate>-30%,errors<+0", a, slow}, 0, "kept    rate>-30%: it is -20.0 %"},
		{[]string{"--threshold", "rate>-30%", "--threshold", "rate>-1%", a, slow}, 3, "BROKEN  rate>-1%"},
		{[]string{"--threshold", "cpu<+5%", a, same}, 3, "BROKEN  cpu<+5%: the figure is not known for both runs"},
		{[]string{a, doubtful}, 0, "INVALID: run b: the hypervisor took 9 % (gate steal)"},
		{[]string{"--threshold", "rate>-5%", a, doubtful}, 4, "INVALID: run b: "},
		{[]string{"--threshold", "rate>-5%", "--anyway", a, doubtful}, 0, "kept"},
		{[]string{a, other}, 2, "what is measured: a closed loop, then an open loop"},
		{[]string{"--anyway", a, other}, 0, "DIFFERENT: what is measured: a closed loop, then an open loop"},
		{[]string{a}, 2, "name two runs, such as redline compare before.json after.json; there is 1 argument\n"},
		{[]string{a, same, a}, 2, "there are 3 arguments\n"},
		{[]string{a, filepath.Join(dir, "absent.json")}, 2, "no such file"},
		{[]string{"--threshold", "p100<+1%", a, same}, 2, `--threshold "p100<+1%": "p100" is not a metric`},
		{[]string{"--threshold", "p99.9<+1%", a, same}, 3, "BROKEN  p99.9<+1%: the figure is not known for both runs"},
		{[]string{"--percentiles", "75", "--threshold", "rate>-5%,p98<+1%", a, same}, 3, "p75"},
		{[]string{"--percentiles", "101", a, same}, 2, `--percentiles: "101" is no percentile`},
	} {
		code, out, said := outputOf(t, t.Context(), append([]string{"compare"}, c.args...)...)
		text := out + said
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d, want %d, %q:\n%s", strings.ReplaceAll(strings.Join(c.args, " "), dir, ""), code, c.code, c.want, text)
		}
	}
}

func TestCompareJSON(t *testing.T) {
	dir := t.TempDir()
	a, b, file := madeRun(t, dir, "a.json", 50, 0, ""), madeRun(t, dir, "b.json", 50, 0.2, ""), filepath.Join(dir, "change.json")
	code, out, said := outputOf(t, t.Context(), "compare", "--json", "-", a, b)
	var c compare.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v, %s", code, err, said)
	}
	if rate := c.Metric("rate"); c.A.File != a || c.B.File != b || rate.Verdict != compare.Worse || rate.Ratio == nil || rate.Ratio.High > 0.9 {
		t.Errorf("%+v", c)
	}
	code, out, said = outputOf(t, t.Context(), "compare", "--json", file, a, b)
	text, err := os.ReadFile(file)
	if err != nil || code != 0 || !strings.Contains(out, "verdict") || !strings.Contains(string(text), `"schema": "redline.compare"`) {
		t.Errorf("exit code %d, %v, %s%s", code, err, out, said)
	}
}
