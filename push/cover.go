package push

import (
	"slices"

	"github.com/redline-go/redline/push/topic"
)

// A cover is a set of names and patterns that says which others they cover. What it costs to ask does
// not depend on how many there are: a client may be granted more than a thousand.
type cover struct {
	all   []string
	tree  *topic.Tree[string] // nil for few
	looks int                 // patterns of the list, or trees, that were looked at, for tests
}

// fewCovers is up to how many a list is faster than a tree.
const fewCovers = 16

func newCover(all []string) (c cover) {
	if len(all) <= fewCovers {
		c.all = slices.Clip(all)
		return c
	}
	for _, f := range all {
		c.add(f)
	}
	return c
}

func (c *cover) add(f string) {
	c.all = append(c.all, f)
	switch {
	case c.tree != nil:
		c.tree.Put(f, &f)
	case len(c.all) > fewCovers:
		c.tree = new(topic.Tree[string])
		for _, f := range c.all {
			c.tree.Put(f, &f)
		}
	}
}

// has reports whether a name or pattern is in the set.
func (c *cover) has(f string) bool {
	if c.tree != nil {
		c.looks++
		return c.tree.Get(f) != nil
	}
	return c.listed(func(g string) bool { return g == f })
}

// covers reports whether one in the set selects all that f selects.
func (c *cover) covers(f string) bool {
	if c.tree != nil {
		c.looks++
		return c.tree.Covers(f)
	}
	return c.listed(func(g string) bool { return g == f || topic.Covers(g, f) })
}

// listed reports whether the list has one of some kind.
func (c *cover) listed(is func(g string) bool) bool {
	return slices.ContainsFunc(c.all, func(g string) bool {
		c.looks++
		return is(g)
	})
}

// coversOther is like covers, without f itself.
func (c *cover) coversOther(f string) bool {
	if c.tree == nil {
		return c.listed(func(g string) bool { return g != f && topic.Covers(g, f) })
	}
	c.looks++
	itself := c.tree.Get(f)
	if c.tree.Delete(f); itself != nil {
		defer c.tree.Put(f, itself)
	}
	return c.tree.Covers(f)
}

// without returns the filters that no other one covers: what several select would be looked for
// several times.
func without(filters []string) []string {
	if len(filters) == 1 {
		return filters
	}
	patterns := newCover(slices.DeleteFunc(slices.Clone(filters), func(f string) bool { return !topic.IsPattern(f) }))
	return patterns.uncovered(filters)
}

// uncovered returns the filters that no other one in the set covers.
func (c *cover) uncovered(filters []string) []string {
	kept := make([]string, 0, len(filters))
	for _, f := range filters {
		if !c.coversOther(f) {
			kept = append(kept, f)
		}
	}
	return slices.Clip(kept)
}
