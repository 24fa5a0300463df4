package archtest

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the import table into docs/ARCHITECTURE.md")

// TestTable holds the table of docs/ARCHITECTURE.md against the rules.
func TestTable(t *testing.T) {
	const (
		name       = "../../docs/ARCHITECTURE.md"
		begin, end = "<!-- imports:begin -->\n", "<!-- imports:end -->"
	)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatalf("%s has no lines %q and %q", name, begin, end)
	}
	want := Redline.Table()
	if got == want {
		return
	}
	if *update {
		if err := os.WriteFile(name, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s: the import table is not that of rules.go: go test ./internal/archtest -update", name)
}
