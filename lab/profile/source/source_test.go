package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile/profiletest"
)

func options(match string) Options {
	print := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	return Options{Value: 1, Match: regexp.MustCompile(match), Print: print, Binary: func(file string) string { return file }}
}

// written is a profile whose first function has a source file of n lines.
func written(t *testing.T, n int) *pprof.Profile {
	t.Helper()
	p := profiletest.Of("cpu", "nanoseconds", "main.main;main.f 30\nmain.main;main.f;main.f 5\n")
	path := filepath.Join(t.TempDir(), "main.go")
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\tline %d \x1b[31m\n", i+1)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Function {
		f.Filename = path
	}
	return p
}

func TestList(t *testing.T) {
	var b bytes.Buffer
	o := options(`main\.f`)
	o.Each = func(v float64) string { return fmt.Sprintf("%.1f", v/10) }
	if err := List(&b, written(t, 100), o); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"main.f\n", "flat 35, cum 35\n", "      flat        cum    cum/req\n",
		"         .          .          .     10      line 10 [31m\n",
		"        35         35        3.5     11      line 11 [31m\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Contains(got, "main.main\n") {
		t.Error(got)
	}
}

func TestListMissing(t *testing.T) {
	var b bytes.Buffer
	p := profiletest.Of("cpu", "nanoseconds", "main.main;main.f 30\n")
	if err := List(&b, p, options("nothing")); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	// Without the source, the lines with samples remain.
	p.Function[0].Filename = filepath.Join(t.TempDir(), "none.go")
	if err := List(&b, p, options("main.f")); err != nil || !strings.Contains(b.String(), "the source is missing") || !strings.Contains(b.String(), "30") {
		t.Errorf("%v\n%s", err, b.String())
	}
	// A path in a profile may name anything: only regular files are read.
	p.Function[0].Filename = "/dev/zero"
	b.Reset()
	if err := List(&b, p, options("main.f")); err != nil || !strings.Contains(b.String(), "there is no file /dev/zero") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// The file of a program that was built elsewhere is found in a directory.
func TestFindSource(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cart"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "cart", "add.go")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"example.org/shop/cart/add.go", "/build/shop/cart/add.go", "cart/add.go", "../cart/add.go"} {
		if got, err := findSource(file, []string{dir}); err != nil || got != path {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	for _, file := range []string{"", "none.go", "cart"} {
		if got, err := findSource(file, []string{dir}); err == nil {
			t.Errorf("%q: %q", file, got)
		}
	}
}
