//go:build unix

package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const content = "new content\n"

func write(t *testing.T, path string) {
	t.Helper()
	if err := Write(path, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, path, text string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("%s holds %q, want %q", path, got, text)
	}
}

// only checks that a directory has these files only: no temporary file is left.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the directory holds %v, want %v", got, names)
	}
}

func old(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("old content, which is longer\n"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	before := syscall.Umask(0o077)
	err := Write(path, []byte(content))
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	want(t, path, content)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want 0600 with a umask of 077", info.Mode(), err)
	}
	only(t, dir, "a")
}

// TestReplaced checks that the attributes of a file are preserved, and that a reader of the
// old file can continue to read it.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	old(t, path, 0o640)
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 12, 34); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	is, err := reader.Stat()
	if err != nil {
		t.Fatal(err)
	}
	write(t, path)
	want(t, path, content)
	now, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := is.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	if a.Mode != b.Mode || a.Uid != b.Uid || a.Gid != b.Gid {
		t.Errorf("mode %o of %d:%d, want %o of %d:%d", b.Mode, b.Uid, b.Gid, a.Mode, a.Uid, a.Gid)
	}
	if got, err := io.ReadAll(reader); err != nil || !strings.HasPrefix(string(got), "old") {
		t.Errorf("a reader of the old file gets %q, %v", got, err)
	}
	only(t, dir, "a")
}

// TestLinks follows links, also dangling ones, and preserves hard links.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("d"), 0o755))
	old(t, at("d/file"), 0o644)
	old(t, at("d/hard"), 0o644)
	must(os.Link(at("d/hard"), at("hard")))
	must(os.Symlink("d/file", at("one")))
	must(os.Symlink(at("one"), at("two")))
	must(os.Symlink("d/none", at("dangling")))
	must(os.Symlink("loop", at("loop")))
	for _, name := range []string{"two", "dangling", "hard"} {
		write(t, at(name))
	}
	for _, name := range []string{"d/file", "d/none", "d/hard"} {
		want(t, at(name), content)
	}
	if to, err := os.Readlink(at("two")); err != nil || to != at("one") {
		t.Errorf("two leads to %q, %v", to, err)
	}
	if err := Write(at("loop"), nil); err == nil {
		t.Error("a loop of links was written")
	}
	only(t, dir, "d", "dangling", "hard", "loop", "one", "two")
	only(t, at("d"), "file", "hard", "none")
}

// TestDevice writes to a device, and does not replace it.
func TestDevice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "null")
	if err := mknod(path); errors.Is(err, syscall.EPERM) {
		t.Skip("this process may not make devices")
	} else if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Skipf("this directory's devices are not to be used: %v", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, path)
	after, err := os.Lstat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the device is now %v, %v", after.Mode(), err)
	}
	only(t, dir, "null")
}

func TestFIFO(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(path)
		if err != nil {
			b = []byte(err.Error())
		}
		got <- string(b)
	}()
	write(t, path)
	if text := <-got; text != content {
		t.Errorf("the reader gets %q", text)
	}
	only(t, dir, "fifo")
}

// TestDescriptors writes to the process's own output: through a pipe, and after the content
// of a redirected file.
func TestDescriptors(t *testing.T) {
	if os.Getenv("FILE_TEST_WRITES") != "" {
		os.Stdout.WriteString("before\n")
		if err := errors.Join(Write("/dev/stdout", []byte(content)), Write("/dev/fd/1", []byte(content)), Write("/dev/stderr", []byte("error\n"))); err != nil {
			os.Stdout.WriteString(err.Error())
		}
		os.Exit(0)
	}
	const wanted = "before\n" + content + content
	run := func(out io.Writer) string {
		var said bytes.Buffer
		c := exec.Command(os.Args[0], "-test.run=^TestDescriptors$")
		c.Env = append(os.Environ(), "FILE_TEST_WRITES=1")
		c.Stdout, c.Stderr = out, &said
		if err := c.Run(); err != nil {
			t.Fatal(err, said.String())
		}
		return said.String()
	}
	var pipe bytes.Buffer
	if said := run(&pipe); pipe.String() != wanted || said != "error\n" {
		t.Errorf("through a pipe: %q and %q", pipe.String(), said)
	}
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	run(f)
	want(t, path, wanted)
}

// TestRefused does not change what may not be written.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, nil); err == nil {
		t.Error("a directory was written")
	}
	if err := Write(filepath.Join(dir, "none", "a"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that does not exist: %v", err)
	}
	if os.Geteuid() == 0 {
		return // may write everything
	}
	path := filepath.Join(dir, "a")
	old(t, path, 0o444)
	if err := Write(path, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a read-only file: %v", err)
	}
}

// TestInPlaceFails writes to a file with two names that cannot have the new content: it keeps the
// old one. The limit is that of the process on the size of files.
func TestInPlaceFails(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	for _, c := range []struct {
		limit uint64
		data  int
	}{{40, 100}, {35, 36}, {10, 100}, {10, 20}, {40, 40}, {40, 5}, {40, 0}} {
		dir := t.TempDir()
		path, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		before, after := strings.Repeat("o", 30), strings.Repeat("n", c.data)
		must(os.WriteFile(path, []byte(before), 0o644))
		must(os.Link(path, other))
		var was syscall.Rlimit
		must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: c.limit, Max: was.Max}))
		err := Write(path, []byte(after))
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
		text := after
		if c.data > int(c.limit) || c.limit < 30 {
			text = before
			if !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%+v: %v", c, err)
			}
		} else if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		for _, name := range []string{path, other} {
			if got, err := os.ReadFile(name); err != nil || string(got) != text {
				t.Errorf("%+v: %s has %q, want %q (%v)", c, filepath.Base(name), got, text, err)
			}
		}
	}
}
