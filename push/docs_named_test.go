package push_test

import (
	"regexp"
	"strings"
	"testing"
)

// named finds the tests that a text names, each with the file to which the name leads.
var named = regexp.MustCompile("(\\[?)`(?:pushtest\\.)?(Test\\w+|Handler|Broker|Registry)`(?:\\]\\(([^)]*)\\))?")

// TestNamedTests wants the tests that the documents name to be where they say.
func TestNamedTests(t *testing.T) {
	found := 0
	for _, name := range []string{"../docs/push.md", "../docs/push-promises.md", "../docs/push-cluster.md", "../docs/push-contrib.md"} {
		for _, m := range named.FindAllStringSubmatch(read(t, name), -1) {
			if m[1] == "" && !strings.HasPrefix(m[2], "Test") {
				continue // another thing of that name
			}
			found++
			if m[3] == "" {
				t.Errorf("%s names %s, and not its file", name, m[2])
			} else if !strings.Contains(read(t, "../docs/"+m[3]), "\nfunc "+m[2]+"(t *testing.T") {
				t.Errorf("%s: there is no %s in %s", name, m[2], m[3])
			}
		}
	}
	if found < 40 {
		t.Errorf("%d tests are named", found)
	}
}
