package results

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func example() *File {
	p50 := 281.5
	return &File{
		Tool:    "redline 0.1.0",
		Command: []string{"compare", "--blocks=6"},
		Started: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC),
		Runs: []Run{{
			ID: "plaintext/b1/net-http", Stderr: "panic: </script>\x1b[2J", Counted: true,
			Errors:  map[string]uint64{"reset": 3},
			Latency: Latency{Count: 21, P50: &p50},
			Series:  []Sample{{T: 0.2, Heat: [][2]uint64{{31, 12}}}},
		}},
		Cells: []Cell{{Metrics: map[Metric]Estimate{MetricCPU: {Value: 9.4, Low: 9.3, High: 9.5}}}},
	}
}

func TestSaveLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	f := example()
	for range 2 { // the second time over the first
		if err := Save(path, f); err != nil {
			t.Fatal(err)
		}
	}
	if f.Schema != "" {
		t.Error("Save changed its argument")
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Schema, f.Version = SchemaName, SchemaVersion
	if !reflect.DeepEqual(got, f) {
		t.Errorf("loaded %+v\nsaved  %+v", got, f)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, want 0644", info.Mode())
	}
}

func TestSaveRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "results.json")
	if err := Save(path, example()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := example()
	f.Runs[0].Rate = math.NaN()
	if err := Save(path, f); err == nil {
		t.Error("NaN was saved")
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("a refused save changed the file")
	}
	if err := Save(filepath.Join(dir, "none", "results.json"), example()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("saved into a missing directory: %v", err)
	}
	// A rename onto a directory fails late: the temporary file must be gone.
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Save(filepath.Join(dir, "taken"), example()); err == nil {
		t.Error("saved over a directory")
	}
}

func TestLoadRefuses(t *testing.T) {
	const head = `{"schema":"redline.results","version":1`
	tests := []struct {
		name, data string
		check      func(error) bool
		text       string
	}{
		{"empty", ``, damagedAt(0), "damaged at byte 0"},
		{"cut off", head + `,"runs":[{"id":"a`, damagedAt(56), "damaged at byte 56"},
		{"garbage", head + `,"runs":[}]}`, damagedAt(49), "damaged at byte 49"},
		{"wrong type", head + `,"runs":[{"block":"one"}]}`, damagedAt(62), "Go struct field"},
		{"trailing", head + `}{}`, damagedAt(41), "after top-level value"},
		{"no schema", `{"version":1}`, is[*SchemaError], `no field "schema"`},
		{"other schema", `{"schema":"k6.summary","version":1}`, is[*SchemaError], `"k6.summary"`},
		{
			"newer", `{"schema":"redline.results","version":3,"tool":"redline 3.0","runs":{}}`, is[*VersionError],
			"written by version 3 of the schema (by redline 3.0); this redline reads 1 to 2: read it with a newer redline",
		},
		{"older", `{"schema":"redline.results","version":0}`, is[*VersionError], "the redline that wrote it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "results.json")
			if err := os.WriteFile(path, []byte(test.data), 0o644); err != nil {
				t.Fatal(err)
			}
			f, err := Load(path)
			if f != nil || err == nil {
				t.Fatalf("loaded %v, %v", f, err)
			}
			if !test.check(err) {
				t.Errorf("error %#v", err)
			}
			if text := err.Error(); !strings.Contains(text, test.text) || !strings.Contains(text, path) {
				t.Errorf("error %q lacks %q or the path", text, test.text)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestLoadIgnoresAddedFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	data := `{"schema":"redline.results","version":1,"added":{"later":true},"partial":"interrupted"}`
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path)
	if err != nil || f.Partial != "interrupted" {
		t.Errorf("loaded %v, %v", f, err)
	}
}

// TestLoadReadsOldVersions reads a file whose blocks were run again.
func TestLoadReadsOldVersions(t *testing.T) {
	f, err := Load("testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, r := range f.Runs {
		if r.Counted {
			counted++
		}
	}
	if f.Version != 1 || len(f.Runs) != 4 || counted != 2 || f.Comparisons[0].Margin != 0 || f.Gates[0].Passed {
		t.Errorf("%+v", f)
	}
}

func damagedAt(offset int64) func(error) bool {
	return func(err error) bool {
		var d *DamagedError
		return errors.As(err, &d) && d.Offset == offset && d.Unwrap() != nil
	}
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
