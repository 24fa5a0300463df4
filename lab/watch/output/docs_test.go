package output

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables into docs/watch.md")

// The tables of docs/watch.md are those of the code.
func TestDocsTables(t *testing.T) {
	const name = "../../../docs/watch.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for section, want := range map[string]string{"figures": FigureTable(), "marks": MarkTable()} {
		before, rest, ok := strings.Cut(page, "<!-- "+section+":begin -->\n")
		got, after, also := strings.Cut(rest, "<!-- "+section+":end -->")
		if !ok || !also {
			t.Fatalf("%s has no markers of %s", name, section)
		}
		if got == want {
			continue
		}
		if page = before + "<!-- " + section + ":begin -->\n" + want + "<!-- " + section + ":end -->" + after; !*update {
			t.Errorf("%s: the table of %s is not that of the code: go test ./lab/watch/output -update", name, section)
		}
	}
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
