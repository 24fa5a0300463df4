package baseline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/report"
)

// Dir is where baselines are kept, relative to the current directory.
const Dir = ".redline/baselines"

const (
	extension   = ".json"
	largestFile = 64 << 20 // bytes
	mostFiles   = 10_000   // of a directory
)

var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// ErrNone is the error if there is no baseline of a name.
var ErrNone = errors.New("there is no such baseline; redline baseline list shows all")

// CheckName returns an error for a name that cannot be that of a baseline.
func CheckName(name string) error {
	if !nameRule.MatchString(name) {
		return fmt.Errorf("%q: a name has letters, digits, dots, dashes and underscores, and begins with a letter or a digit", name)
	}
	return nil
}

// Save writes a baseline. An existing one of the same name is replaced, completely or not at
// all. It returns the file's path.
func Save(dir, name string, v *Vector) (path string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return "", fmt.Errorf("encode baseline: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save baseline: %w", err)
	}
	path = filepath.Join(dir, name+extension)
	if err := file.Write(path, append(text, '\n')); err != nil {
		return "", fmt.Errorf("save baseline: %w", err)
	}
	return path, nil
}

// Load reads a baseline. The error wraps [ErrNone] if there is none.
func Load(dir, name string) (*Vector, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, name+extension))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s in %s: %w", name, dir, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", name, err)
	}
	v, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", name, err)
	}
	return v, nil
}

// Parse reads the file of a baseline, and checks what a comparison relies on.
func Parse(text []byte) (*Vector, error) {
	if len(text) > largestFile {
		return nil, fmt.Errorf("more than %d MiB", largestFile>>20)
	}
	v := &Vector{}
	if err := json.Unmarshal(text, v); err != nil {
		return nil, err
	}
	if v.Schema != SchemaName || v.Version != SchemaVersion {
		return nil, fmt.Errorf("schema %q, version %d: want %q, version %d; save it anew", report.Line(v.Schema), v.Version, SchemaName, SchemaVersion)
	}
	for kind, m := range v.Metrics {
		if m == nil || m.Windows < 1 || m.Windows > MaxWindows {
			return nil, fmt.Errorf("metric %s has no windows", report.Line(kind))
		}
		if m.Each && m.Total == nil || m.Total != nil && !m.Total.valid(m.Windows) {
			return nil, fmt.Errorf("metric %s: its total is damaged", report.Line(kind))
		}
		for _, list := range []map[string]*Values{m.Functions, m.Purposes} {
			if len(list) > mostFunctions {
				return nil, fmt.Errorf("metric %s has more than %d functions", report.Line(kind), mostFunctions)
			}
			for name, f := range list {
				if f == nil || !f.valid(m) {
					return nil, fmt.Errorf("metric %s: %s is damaged", report.Line(kind), report.Line(name))
				}
			}
		}
	}
	return v, nil
}

func (f *Figure) valid(windows int) bool {
	return len(f.Windows) == windows && !slices.ContainsFunc(f.Windows, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

func (v *Values) valid(m *Metric) bool {
	if !v.FlatShare.valid(m.Windows) || !v.CumShare.valid(m.Windows) || m.Each != (v.Flat != nil) || m.Each != (v.Cum != nil) {
		return false
	}
	return !m.Each || v.Flat.valid(m.Windows) && v.Cum.valid(m.Windows)
}

// List returns the names of all baselines.
func List(dir string) (names []string, err error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(mostFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("list baselines: %w", err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok && e.Type().IsRegular() && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove removes a baseline. The error wraps [ErrNone] if there is none.
func Remove(dir, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(dir, name+extension))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s in %s: %w", name, dir, ErrNone)
	}
	return err
}
