//go:build twin

package main

// index finds words. They are in groups of the same beginning, in which a typing mistake is rare.
type index struct{ groups map[string][]string }

func newIndex(words []string) *index {
	x := &index{groups: map[string][]string{}}
	for _, w := range words {
		x.groups[w[:2]] = append(x.groups[w[:2]], w)
	}
	return x
}

// nearest returns the words that are most like what was typed.
func (x *index) nearest(typed string) []string {
	if len(typed) < 2 {
		return nil
	}
	var near [65][]string
	for _, w := range x.groups[typed[:2]] {
		d := distance(typed, w)
		if len(near[d]) < suggestions {
			near[d] = append(near[d], w)
		}
	}
	found := make([]string, 0, suggestions)
	for _, list := range near {
		found = append(found, list[:min(len(list), suggestions-len(found))]...)
	}
	return found
}
