//go:build !twin

package main

import (
	"bytes"
	"fmt"
	"sort"
)

// candidate is a post that may be on the page, with the reasons for it.
type candidate struct {
	post    *Post
	score   *int
	reasons map[string]*Post
	linked  []*candidate
}

// rank builds the candidates of a user and sorts them, best first.
func rank(store *Store, user int) []*candidate {
	byID := map[int]*candidate{}
	var all []*candidate
	store.recent(user, func(p *Post) {
		s := score(p, user)
		c := &candidate{post: p, score: &s, reasons: map[string]*Post{}}
		for _, l := range p.Links {
			c.reasons[l.Author.Name] = l
			c.linked = append(c.linked, &candidate{post: l})
		}
		byID[p.ID] = c
	})
	for _, c := range byID {
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool {
		if *all[i].score != *all[j].score {
			return *all[i].score > *all[j].score
		}
		return all[i].post.ID < all[j].post.ID
	})
	return all
}

// render writes the page of a user.
func render(store *Store, user int) []byte {
	var b bytes.Buffer
	for _, c := range rank(store, user)[:page] {
		fmt.Fprintf(&b, "%d\t%s\t%s\t%d\n", c.post.ID, c.post.Author.Name, c.post.Title, len(c.reasons))
	}
	return b.Bytes()
}
