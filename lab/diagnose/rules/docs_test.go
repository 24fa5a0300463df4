package rules

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table into docs/diagnose.md")

// The table of docs/diagnose.md is that of the code, and each cause has a section.
func TestDocs(t *testing.T) {
	const name = "../../../docs/diagnose.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	before, rest, ok := strings.Cut(page, "<!-- causes:begin -->\n")
	got, after, also := strings.Cut(rest, "<!-- causes:end -->")
	if !ok || !also {
		t.Fatalf("%s has no markers of causes", name)
	}
	for _, r := range every() {
		if strings.Count(after, "\n### "+r.id+"\n") != 1 {
			t.Errorf("%s has no section, or several, with the heading ### %s", name, r.id)
		}
	}
	if got == Table() {
		return
	}
	if !*update {
		t.Fatalf("%s: the table of causes is not that of the code: go test ./lab/diagnose/rules -update", name)
	}
	page = before + "<!-- causes:begin -->\n" + Table() + "<!-- causes:end -->" + after
	if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}
