package static

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

// content reads an open file and closes it.
func content(t *testing.T, f *File) string {
	t.Helper()
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.txt", "abc")
	write(t, dir, "d/b.txt", "b")
	root := openRoot(t, dir)
	f, err := Open(root, "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if f.Size != 3 || f.ModTime.IsZero() || f.Coding != "" || !ValidTag(f.Tag()) {
		t.Errorf("%+v", f)
	}
	if got := content(t, f); got != "abc" {
		t.Error(got)
	}
	for name, want := range map[string]error{
		"missing": ErrNotFile, "a.txt/b": ErrNotFile, "../a.txt": ErrNotFile, "/etc/passwd": ErrNotFile,
		"d": ErrDirectory, ".": ErrDirectory, "d/": ErrDirectory, "a\x00b": ErrNotFile,
	} {
		if f, err := Open(root, name); !errors.Is(err, want) {
			t.Errorf("%q: %v %v", name, f, err)
		}
	}
	closed, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(closed, "a.txt"); err == nil || errors.Is(err, ErrNotFile) {
		t.Errorf("closed root: %v", err)
	}
}

func TestTagTellsVersionsApart(t *testing.T) {
	now := time.Unix(1e9, 0)
	seen := map[string]bool{}
	for _, f := range []File{
		{Size: 1, ModTime: now},
		{Size: 2, ModTime: now},
		{Size: 1, ModTime: now.Add(1)},
		{Size: 1, ModTime: now, Coding: "br"},
		{Size: 1, ModTime: now, Coding: "gzip"},
	} {
		if seen[f.Tag()] {
			t.Errorf("%+v: %s again", f, f.Tag())
		}
		seen[f.Tag()] = true
	}
}

func TestVariant(t *testing.T) {
	dir := t.TempDir()
	old, now := time.Unix(1e9, 0), time.Unix(2e9, 0)
	for name, at := range map[string]time.Time{
		"a.js": old, "a.js.br": now, "a.js.gz": old, // as old as its file: still good
		"b.js": now, "b.js.br": old, "b.js.gz": now, // forgotten
		"c.js": old, "c.js.br/x": now,
		"d.js": old,
	} {
		write(t, dir, name, name)
		if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	root := openRoot(t, dir)
	for _, tt := range []struct{ name, accept, want, coding string }{
		{"a.js", "", "a.js", ""},
		{"a.js", "gzip, br", "a.js.br", "br"},
		{"a.js", "gzip", "a.js.gz", "gzip"},
		{"a.js", "zstd", "a.js", ""},
		{"a.js", "zstd, gzip;q=0.1", "a.js.gz", "gzip"},
		{"a.js", "br;q=0", "a.js", ""},
		{"b.js", "gzip, br", "b.js.gz", "gzip"},
		{"b.js", "br", "b.js", ""},
		{"c.js", "br", "c.js", ""},
		{"d.js", "*", "d.js", ""},
	} {
		f, err := Open(root, tt.name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := f.Variant(root, tt.name, tt.accept)
		if err != nil {
			t.Fatal(err)
		}
		if v != f {
			if err := f.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s for %q: the file was left open: %v", tt.name, tt.accept, err)
			}
		}
		if got := content(t, v); got != tt.want || v.Coding != tt.coding {
			t.Errorf("%s for %q: %s %q", tt.name, tt.accept, got, v.Coding)
		}
	}
}
