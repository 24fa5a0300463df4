package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "watch.json")
	// A minute at most. The command has no fixed end: the first sample may be late on a busy machine.
	untilSeen := fmt.Sprintf(`n=0; until grep -q '"type":"sample"' '%s' || [ $n = 3000 ]; do n=$((n+1)); sleep 0.02; done 2>/dev/null; exit 5`, file)
	for _, c := range []struct {
		args      []string
		code      int
		out, said string
	}{
		{[]string{"watch", "--every", "20ms", "--json", file, "--", "sh", "-c", untilSeen}, 5, "", "ended after"},
		{[]string{"watch", "--every", "20ms", "--for", "200ms", "--mark", "gc-cpu=off", "--", "sleep", "60"}, 0, `"end":"time"`, ""},
		{[]string{"watch"}, 2, "", "name what to watch"},
		{[]string{"watch", "sleep", "60"}, 2, "", "redline watch -- sleep"},
		{[]string{"watch", "--pid", "1", "sleep"}, 2, "", "redline watch -- sleep"},
		{[]string{"watch", "--pid", "x"}, 2, "", "write an integer"},
		{[]string{"watch", "--pid", "1", "--mark", "rss=1"}, 2, "", "rss-slope"},
		{[]string{"watch", "--pid", "1", "--html", filepath.Join(t.TempDir(), "no", "x")}, 2, "", "there is no directory"},
		{[]string{"monitor"}, 2, "", "watch"},
	} {
		code, out, said := outputOf(t, t.Context(), c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(said, c.said) {
			t.Errorf("%s: exit code %d, %q, %q", c.args, code, out, said)
		}
	}
	if text := read(t, file); !strings.Contains(text, `"end":"gone"`) {
		t.Error(text)
	}
}
