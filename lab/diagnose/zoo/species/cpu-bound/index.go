//go:build !twin

package main

// index finds words.
type index struct{ words []string }

func newIndex(words []string) *index { return &index{words} }

// nearest returns the words that are most like what was typed.
func (x *index) nearest(typed string) []string {
	found := make([]string, 0, suggestions)
	for limit := 0; limit <= len(typed) && len(found) < suggestions; limit++ {
		for _, w := range x.words {
			if distance(typed, w) == limit {
				if found = append(found, w); len(found) == suggestions {
					break
				}
			}
		}
	}
	return found
}
