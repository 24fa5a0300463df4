package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"in", "other"} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("in", at("soft")), os.Link(at("in"), at("hard"))); err != nil {
		t.Fatal(err)
	}
	for out, ok := range map[string]bool{
		"in": false, "soft": false, "hard": false, "../" + filepath.Base(dir) + "/in": false,
		"other": true, "new": true,
		"absent/new": false, "in/new": false, ".": false,
	} {
		var usage UsageError
		if err := CheckOutput("json", at(out), "absent", at("in")); (err == nil) != ok || err != nil && !errors.As(err, &usage) {
			t.Errorf("%s: %v", out, err)
		}
	}
	for _, out := range []string{at("absent/file"), at("in/file"), dir} {
		if err := CheckOutput("json", out); err == nil || !strings.Contains(err.Error(), "--json "+out) && !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", out, err)
		}
	}
	for _, none := range []string{"", "-"} {
		if err := CheckOutput("json", none); err != nil {
			t.Error(err)
		}
	}
	if err := CheckOutput("json", os.DevNull, os.DevNull); err != nil {
		t.Error(err)
	}
}
