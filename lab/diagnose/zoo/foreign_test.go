package zoo

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program that is not installed is a need that is not met, and the error says what to do.
func TestProgramNotInstalled(t *testing.T) {
	s := Species{Name: "nginx-log", Command: []string{"redline-zoo-no-such-program"}}
	_, err := s.command(t.TempDir(), false)
	if !errors.Is(err, ErrNeeds) || !strings.Contains(err.Error(), "install redline-zoo-no-such-program") {
		t.Errorf("got %v", err)
	}
}

// Arguments that name a file of the species are paths; the others are as they were.
func TestCommand(t *testing.T) {
	s := Species{Name: "nginx-log", Command: []string{"go", "-c", "nginx.conf"}, TwinCommand: []string{"go", "nginx_twin.conf"}}
	for twin, want := range map[bool][]string{false: {"-c", "/dir/nginx.conf"}, true: {"/dir/nginx_twin.conf"}} {
		got, err := s.command("/dir", twin)
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsAbs(got[0]) || !slices.Equal(got[1:], want) {
			t.Errorf("twin=%v: got %q, want %q", twin, got, want)
		}
	}
}

func TestUnpack(t *testing.T) {
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := (Species{Name: "nginx-log"}).unpack(dir, addr); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "@") || !strings.Contains(string(text), "listen "+addr+" ") {
		t.Errorf("address %s is not filled in:\n%s", addr, text)
	}
	if err := (Species{Name: "no-such-species"}).unpack(dir, addr); err == nil {
		t.Error("a species without files was unpacked")
	}
}
