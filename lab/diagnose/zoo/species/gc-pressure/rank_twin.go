//go:build twin

package main

import "strconv"

// candidate is a post that may be on the page.
type candidate struct {
	post  *Post
	score int
}

// best keeps the posts of one page in order, best first.
type best struct {
	list [page]candidate
	n    int
}

// offer inserts a post if it belongs on the page.
func (b *best) offer(c candidate) {
	i := b.n
	for i > 0 && (b.list[i-1].score < c.score || b.list[i-1].score == c.score && b.list[i-1].post.ID > c.post.ID) {
		i--
	}
	if i == page {
		return
	}
	b.n = min(b.n+1, page)
	copy(b.list[i+1:b.n], b.list[i:])
	b.list[i] = c
}

// render writes the page of a user.
func render(store *Store, user int) []byte {
	var b best
	store.recent(user, func(p *Post) { b.offer(candidate{p, score(p, user)}) })
	text := make([]byte, 0, 2<<10)
	for _, c := range b.list[:b.n] {
		text = strconv.AppendInt(text, int64(c.post.ID), 10)
		text = append(append(text, '\t'), c.post.Author.Name...)
		text = append(append(text, '\t'), c.post.Title...)
		text = strconv.AppendInt(append(text, '\t'), int64(len(c.post.Links)), 10)
		text = append(text, '\n')
	}
	return text
}
