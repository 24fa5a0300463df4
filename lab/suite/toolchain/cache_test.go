package toolchain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// compiled builds the program in src into a new directory, as a comparison does, and returns what it
// prints and the steps of the command go.
func compiled(t *testing.T, c Cache, src string, flags ...string) (printed, steps string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "program")
	args := append([]string{"go", "build", "-x", "-o", "{bin}"}, flags...)
	err := c.Build(bin, src, Local, args, func() error {
		args := strings.Fields(strings.ReplaceAll(strings.Join(args, " "), "{bin}", bin))
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = src
		out, err := cmd.CombinedOutput()
		steps = string(out)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), bin).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out), steps
}

// source writes a program that prints a word.
func source(t *testing.T, dir, word string) {
	t.Helper()
	for name, text := range map[string]string{
		"go.mod":  "module example.org/word\n\ngo 1.21\n",
		"main.go": "package main\n\nvar word = \"" + word + "\"\n\nfunc main() { print(word) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func linked(steps string) bool { return strings.Contains(steps, "/link") }

// An unchanged program is linked once; changed sources and flags, and a damaged or foreign program in the
// cache, give the right one.
func TestCacheLinksOnce(t *testing.T) {
	t.Setenv("GOWORK", "off")
	src, c := t.TempDir(), OpenCache(filepath.Join(t.TempDir(), "a", "b"))
	source(t, src, "one")
	if printed, steps := compiled(t, c, src); printed != "one" || !linked(steps) {
		t.Errorf("first: %q\n%s", printed, steps)
	}
	if printed, steps := compiled(t, c, src); printed != "one" || linked(steps) {
		t.Errorf("again: %q\n%s", printed, steps)
	}
	source(t, src, "two")
	if printed, steps := compiled(t, c, src); printed != "two" || !linked(steps) {
		t.Errorf("changed: %q\n%s", printed, steps)
	}
	if printed, steps := compiled(t, c, src, "-ldflags=-X=main.word=three"); printed != "three" || !linked(steps) {
		t.Errorf("other flags: %q\n%s", printed, steps)
	}
	if printed, steps := compiled(t, c, src); printed != "two" || linked(steps) {
		t.Errorf("the flags before: %q\n%s", printed, steps)
	}
	kept, err := filepath.Glob(filepath.Join(c.dir, "*"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("%q, %v: want a program for each of two commands", kept, err)
	}
	for _, path := range kept {
		if err := os.WriteFile(path, []byte("#!/bin/false"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if printed, steps := compiled(t, c, src); printed != "two" || !linked(steps) {
		t.Errorf("replaced: %q\n%s", printed, steps)
	}
}

// A cache that cannot be used is no error, and only the command go build has one.
func TestCacheAbsent(t *testing.T) {
	t.Setenv("GOWORK", "off")
	src, taken := t.TempDir(), filepath.Join(t.TempDir(), "taken")
	source(t, src, "one")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Cache{{}, OpenCache(taken), OpenCache(filepath.Join(taken, "below"))} {
		if printed, _ := compiled(t, c, src); printed != "one" {
			t.Errorf("%+v: %q", c, printed)
		}
	}
	c := OpenCache(filepath.Join(t.TempDir(), "cache"))
	for _, args := range [][]string{{"make", "build"}, {"go", "run", "."}, {"go"}} {
		called := 0
		if err := c.Build("none", src, "", args, func() error { called++; return nil }); err != nil || called != 1 {
			t.Errorf("%q: called %d times, %v", args, called, err)
		}
	}
	if err := c.Build("none", src, "", []string{"go", "build"}, func() error { return os.ErrInvalid }); err != os.ErrInvalid {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("a cache without programs: %v", err)
	}
}

// The programs that were used last are kept.
func TestCacheIsBounded(t *testing.T) {
	c := OpenCache(t.TempDir())
	bin, src := filepath.Join(t.TempDir(), "program"), t.TempDir()
	put := func(i int) string {
		args := []string{"go", "build", fmt.Sprint(i)}
		if err := c.Build(bin, src, "", args, func() error { return os.WriteFile(bin, fmt.Append(nil, i), 0o600) }); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(c.dir, key(src, "", args))
	}
	begin := time.Now().Add(-time.Hour)
	var paths []string
	for i := range mostKept {
		paths = append(paths, put(i))
		at := begin.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(paths[i], at, at); err != nil {
			t.Fatal(err)
		}
	}
	put(0) // used again: 1 and 2 are the oldest
	paths = append(paths, put(mostKept), put(mostKept+1))
	for i, path := range paths {
		if _, err := os.Stat(path); (err == nil) != (i != 1 && i != 2) {
			t.Errorf("program %d: %v", i, err)
		}
	}
}
