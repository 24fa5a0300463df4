package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/diagnose/zoo"
)

func found(ceiling float64, ids ...string) report {
	r := report{Valid: true, Ceiling: ceiling}
	for _, id := range ids {
		c := cause{ID: id}
		c.Gain.Ceiling = 1
		r.Causes = append(r.Causes, c)
	}
	return r
}

func TestScore(t *testing.T) {
	one, two := zoo.Species{Name: "a", Cause: "lock-contention"}, zoo.Species{Name: "b", Cause: "sync-logging", With: []string{"n-plus-one"}}
	all := []row{
		{species: one, sick: found(100, "lock-contention"), twin: found(200)},
		{species: one, sick: found(100, "gc-pressure", "lock-contention"), twin: found(200, "gc-pressure")},
		{species: one, sick: found(100), twin: found(400)},
		{species: two, sick: found(100, "n-plus-one", "x", "sync-logging"), twin: found(300)},
		{species: two, sick: found(100, "n-plus-one"), twin: found(300)},
		{species: one, failed: "it did not start"},
	}
	for i, want := range []struct{ first, three bool }{{true, true}, {false, true}, {false, false}, {true, true}, {true, false}} {
		if first, three := all[i].right(); first != want.first || three != want.three {
			t.Errorf("%d: first %v, three %v; want %+v", i, first, three, want)
		}
	}
	s := sum(all)
	if s.species != 5 || s.first != 3 || s.three != 3 || s.healthy != 4 || s.failed != 1 || s.median() != 0 || len(s.errors) != 3 || math.Abs(s.errors[2]-0.25) > 1e-9 {
		t.Errorf("%+v, median %v", s, s.median())
	}
	err := s.goals()
	for _, want := range []string{"less than 90 %", "first three", "healthy twins", "could not be diagnosed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if good := sum(all[:1]); good.goals() != nil {
		t.Error(good.goals())
	}
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(path, all, s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if got := string(text); err != nil || strings.Contains(got, "old") || !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "after\n") || !strings.Contains(got, "| b | sync-logging, n-plus-one | 3, 1 |") || !strings.Contains(got, "not diagnosed") {
		t.Errorf("%v\n%s", err, got)
	}
	if err := os.WriteFile(path, []byte("no markers"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(path, all, s); err == nil {
		t.Error("no markers: no error")
	}
}
