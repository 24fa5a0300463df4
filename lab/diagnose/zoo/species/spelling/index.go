//go:build !twin

package main

// Index finds words.
type Index struct{ words []string }

func newIndex(words []string) *Index { return &Index{words} }

// nearest returns the word that is most like the given one.
func (x *Index) nearest(word string) string {
	best, least := "", maxWord+1
	for _, w := range x.words {
		if d := distance(word, w); d < least {
			best, least = w, d
		}
	}
	return best
}
