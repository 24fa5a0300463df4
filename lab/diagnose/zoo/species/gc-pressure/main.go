// Command feed serves the home feed of a small social network from memory.
package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	posts      = 150_000
	authors    = 5_000
	candidates = 800 // posts that are considered for one page
	page       = 5   // posts of a page
)

// Post is one post, with the posts that it links to.
type Post struct {
	ID     int
	Author *Author
	Title  string
	Likes  int
	Links  []*Post
}

// Author is someone who writes posts.
type Author struct {
	Name  string
	Karma int
}

// Store holds everything.
type Store struct{ posts []*Post }

func newStore() *Store {
	random := rand.New(rand.NewPCG(1, 2))
	names := make([]*Author, authors)
	for i := range names {
		names[i] = &Author{Name: "author-" + strconv.Itoa(i), Karma: random.IntN(1000)}
	}
	s := &Store{posts: make([]*Post, posts)}
	for i := range s.posts {
		s.posts[i] = &Post{ID: i, Author: names[random.IntN(authors)], Title: fmt.Sprintf("Post %d", i), Likes: random.IntN(500)}
		for range 3 {
			if i > 0 {
				s.posts[i].Links = append(s.posts[i].Links, s.posts[random.IntN(i)])
			}
		}
	}
	return s
}

// recent calls use with the posts that a user's page is chosen from.
func (s *Store) recent(user int, use func(*Post)) {
	at := user * 7919 % posts
	for range candidates {
		use(s.posts[at])
		at = (at + 1) % posts
	}
}

// score is what decides about the place of a post.
func score(p *Post, user int) int {
	return p.Likes*3 + p.Author.Karma + (p.ID^user)%97 + 10*len(p.Links)
}

func main() {
	store := newStore()
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	router.GET("/feed", func(c *gin.Context) {
		user, err := strconv.Atoi(c.DefaultQuery("user", strconv.Itoa(rand.IntN(100_000))))
		if err != nil || user < 0 {
			c.String(http.StatusBadRequest, "user is not a number")
			return
		}
		c.Data(http.StatusOK, "text/plain; charset=utf-8", render(store, user))
	})
	service.MainAdmin(router, http.DefaultServeMux)
}
