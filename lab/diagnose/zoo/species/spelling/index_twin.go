//go:build twin

package main

// Index finds words by their parts: those with at most one mistake have the beginning or the end in
// common.
type Index struct {
	words         []string
	known         map[string]bool
	begin, finish map[string][]string
}

// part is the number of letters by which words are found.
const part = 3

func newIndex(words []string) *Index {
	x := &Index{words, map[string]bool{}, map[string][]string{}, map[string][]string{}}
	for _, w := range words {
		x.known[w] = true
		x.begin[w[:part]] = append(x.begin[w[:part]], w)
		x.finish[w[len(w)-part:]] = append(x.finish[w[len(w)-part:]], w)
	}
	return x
}

// nearest returns the word that is most like the given one.
func (x *Index) nearest(word string) string {
	if x.known[word] {
		return word
	}
	best, least := "", maxWord+1
	if len(word) > part {
		for _, list := range [][]string{x.begin[word[:part]], x.finish[word[len(word)-part:]]} {
			for _, w := range list {
				if d := distance(word, w); d < least {
					best, least = w, d
				}
			}
		}
	}
	if least <= 1 {
		return best
	}
	for _, w := range x.words { // more than one mistake is rare
		if d := distance(word, w); d < least {
			best, least = w, d
		}
	}
	return best
}
