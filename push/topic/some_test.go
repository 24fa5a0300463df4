package topic

import (
	"fmt"
	"slices"
	"testing"
)

// TestSome: a bounded selection is that of Select, or says that it is not whole.
func TestSome(t *testing.T) {
	var tree Tree[string]
	for i := range 100 {
		name := fmt.Sprintf("a%d/b%d/c", i%4, i)
		tree.Put(name, &name)
	}
	for _, c := range []struct {
		pattern string
		needs   int // nodes
	}{
		{"none/*", 1},
		{"none/**", 1},
		{"*/none", 5},
		{"a1/b1/c", 4},
		{"a1/b1/**", 4},
		{"a1/**", 52},
		{"a1/*/c", 52},
		{"**", 205},
		{"a1/b1/c/**", 4},
		{"a1/b1/c/*", 4},
		{"a1/b1", 3},
	} {
		want := tree.Select(nil, c.pattern)
		got, whole := tree.Some(nil, c.pattern, c.needs)
		texts := func(all []*string) (texts []string) {
			for _, s := range all {
				texts = append(texts, *s)
			}
			slices.Sort(texts)
			return texts
		}
		if !whole || !slices.Equal(texts(got), texts(want)) {
			t.Errorf("%s: whole %v, %d of %d", c.pattern, whole, len(got), len(want))
		}
		if _, whole := tree.Some(nil, c.pattern, c.needs-1); whole {
			t.Errorf("%s: %d nodes are enough", c.pattern, c.needs-1)
		}
	}
}
