package procfs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDelegation has files in place of the kernel's, which keep what was written last.
func TestDelegation(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		later  string // a group that is made between
		limit  string // that an earlier group gets between
		want   string // the last write
	}{
		"given and taken back":   {"cpu\n", "", "max", "-memory -io"},
		"given for another one":  {"cpu\n", "later", "max", "+memory +io"},
		"used by an earlier one": {"cpu\n", "", "4096", "+memory +io"},
		"one is there":           {"cpu io\n", "", "max", "-memory"},
		"both are there":         {"io memory\n", "later", "max", "io memory\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "cgroup.subtree_control")
			if err := os.Mkdir(filepath.Join(dir, "earlier"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := PlanDelegation(dir, "memory", "io")
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Make(); err != nil {
				t.Fatal(err)
			}
			if c.later != "" {
				if err := os.Mkdir(filepath.Join(dir, c.later), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "earlier", "memory.max"), []byte(c.limit+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := d.Undo(); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
	if d, err := PlanDelegation(t.TempDir(), "memory"); err == nil || d.Make() != nil || d.Undo() != nil {
		t.Error("a directory that is no group: ", err)
	}
}
