package advice

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/diagnose"
)

const program = `package main

import (
	"fmt"
	"os"
	"strings"
)

type item struct{ a, b int }

func build(n int) *item { return &item{n, n} }

func main() {
	buf := make([]byte, len(os.Args)*4096)
	os.Stdout.Write(buf)
	var names []string
	for i := range len(os.Args) {
		names = append(names, fmt.Sprint(i))
	}
	os.Stdout.Write([]byte(strings.Join(names, "")))
	fmt.Println(build(3))
}
`

// write writes a module of one file, and returns its directory.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{"main.go": text, "go.mod": "module example.com/shop\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	return dir
}

func TestEscapes(t *testing.T) {
	dir := write(t, program)
	list, err := Escapes(t.Context(), dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Escape{
		{Line: 11, What: "&item{...}", How: "return"},
		{Line: 14, What: "make([]byte, len(os.Args) * 4096)"},
	} {
		found := false
		for _, e := range list {
			found = found || e.File == filepath.Join(dir, "main.go") && e.Line == want.Line && e.What == want.What && strings.HasPrefix(e.How, want.How)
		}
		if !found {
			t.Errorf("%+v is not in %+v", want, list)
		}
	}
}

func TestEscapesRefused(t *testing.T) {
	dir := write(t, "package main\n\nfunc main() { nothing() }\n")
	if _, err := Escapes(t.Context(), dir, "./..."); !errors.Is(err, ErrBuild) || !strings.Contains(err.Error(), "nothing") {
		t.Error(err)
	}
	if _, err := Escapes(t.Context(), filepath.Join(dir, "none"), "./..."); err == nil {
		t.Error("no directory: no error")
	}
}

// allocates is a load whose answers allocate at lines of main.go.
func allocates(file string, lines map[int]float64) *diagnose.Load {
	l := &diagnose.Load{Rate: 100, Looked: 10, Allocs: &diagnose.Stacks{}}
	for line, each := range lines {
		frames := []diagnose.Frame{
			{Func: "os.(*File).Write", Kind: diagnose.Standard},
			{Func: "main.main", File: file, Line: line, Kind: diagnose.User},
		}
		l.Allocs.List = append(l.Allocs.List, diagnose.Stack{Frames: frames, Weight: each * 1000})
		l.Allocs.Total += each * 1000
	}
	return l
}

func TestJoin(t *testing.T) {
	dir := write(t, program)
	escapes, err := Escapes(t.Context(), dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(dir, "main.go"), "example.com/shop/main.go"} { // the second with -trimpath
		list := Join(allocates(file, map[int]float64{14: 8192, 18: 900, 20: 300, 11: 200, 3: 1}), escapes, dir)
		var got []string
		for _, a := range list {
			if a.File != filepath.Join(dir, "main.go") || a.Reason == "" {
				t.Errorf("%+v", a)
			}
			got = append(got, strings.Fields(a.Do)[0]+" "+strings.Fields(a.Do)[1])
		}
		if want := "take the, allocate the, avoid the, return the"; strings.Join(got, ", ") != want || list[0].Bytes != 8192 {
			t.Errorf("%s: %q, want %s", file, got, want)
		}
	}
	if list := Join(allocates("/elsewhere/main.go", map[int]float64{1: 100}), escapes, dir); len(list) > 0 {
		t.Errorf("of files elsewhere: %+v", list)
	}
	if list := Join(&diagnose.Load{}, escapes, dir); list != nil {
		t.Errorf("without allocations: %+v", list)
	}
}
