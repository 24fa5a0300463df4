//go:build unix

package static

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenNotRegular opens what would block, or do something, if it were read.
// CVE-2022-40082, fasthttp#2173: links out of the root.
func TestOpenNotRegular(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret", "secret")
	write(t, dir, "a.txt", "abc")
	write(t, dir, "d/b.txt", "b")
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"inside": "a.txt", "d/up": "../a.txt", "dir": "d", "chain": "d/up",
		"abs": filepath.Join(outside, "secret"), "absdir": outside, "rel": "../" + filepath.Base(outside) + "/secret",
		"deep": "d/../../" + filepath.Base(outside) + "/secret", "root": "/", "null": "/dev/null", "loop": "loop",
		"self": filepath.Join(dir, "a.txt"), // absolute: it could lead anywhere
	} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	root := openRoot(t, dir)
	for name, want := range map[string]string{"inside": "abc", "d/up": "abc", "dir/b.txt": "b", "chain": "abc"} {
		f, err := Open(root, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := content(t, f); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []string{"fifo", "abs", "absdir", "absdir/secret", "rel", "deep", "root/etc/passwd", "null", "loop", "self", "a.txt/../a.txt/x"} {
		if f, err := Open(root, name); !errors.Is(err, ErrNotFile) {
			t.Errorf("%s: %v %v", name, f, err)
		}
	}
}

// TestOpenWhileReplaced swaps a directory with a link to another one, outside,
// while files in it are opened.
func TestOpenWhileReplaced(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "x", "secret")
	write(t, dir, "real/x", "public")
	real, link, at := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "at")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	root := openRoot(t, dir)
	done := make(chan error, 1)
	go func() {
		for range 3000 {
			for _, from := range []string{real, link} {
				if err := errors.Join(os.Rename(from, at), os.Rename(at, from)); err != nil {
					done <- err
					return
				}
			}
		}
		done <- nil
	}()
	opened := 0
	for {
		if f, err := Open(root, "at/x"); err == nil {
			opened++
			if got := content(t, f); got != "public" {
				t.Fatalf("read %q through the link", got)
			}
		} else if !errors.Is(err, ErrNotFile) {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			t.Log("opened", opened)
			return
		default:
		}
	}
}

func TestSerious(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.EIO: true, syscall.ENOENT: false, syscall.EACCES: false, syscall.ELOOP: false,
	} {
		if got := serious(&os.PathError{Err: err}); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
