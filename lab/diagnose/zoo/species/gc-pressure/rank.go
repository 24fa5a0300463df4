//go:build !twin

package main

import (
	"bytes"
	"fmt"
)

// view is a post as a page shows it.
type view struct {
	post   *Post
	author *authorView
	links  []*linkView
	score  int
}

type authorView struct {
	name  string
	karma int
}

type linkView struct {
	place int
	post  *Post
}

// newView makes the view of a post for a user.
func newView(p *Post, user int) *view {
	v := &view{post: p, author: &authorView{p.Author.Name, p.Author.Karma}, score: score(p, user)}
	for i, l := range p.Links {
		v.links = append(v.links, &linkView{i + 1, l})
	}
	return v
}

// views makes the views of all posts that are considered.
func views(store *Store, user int) []*view {
	var all []*view
	store.recent(user, func(p *Post) { all = append(all, newView(p, user)) })
	return all
}

// first returns the index of the best view that is left.
func first(all []*view) int {
	best := -1
	for i, v := range all {
		if v != nil && (best < 0 || v.score > all[best].score) {
			best = i
		}
	}
	return best
}

// render writes the page of a user.
func render(store *Store, user int) []byte {
	all := views(store, user)
	var b bytes.Buffer
	for range page {
		i := first(all)
		fmt.Fprintf(&b, "%d\t%s\t%s\t%d\n", all[i].post.ID, all[i].author.name, all[i].post.Title, len(all[i].links))
		all[i] = nil
	}
	return b.Bytes()
}
