// Command suggest completes what a visitor types, from an index in memory.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type node struct {
	next   map[byte]*node
	titles []*string
}

type suggestion struct {
	Title string  `json:"title"`
	Score float64 `json:"score"`
}

func main() {
	index := build(60_000)
	e := echo.New()
	e.HideBanner = true
	e.GET("/suggest", func(c echo.Context) error {
		found := index.search(strings.ToLower(c.QueryParam("q")), 12)
		buf, err := json.Marshal(found)
		if err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, buf)
	})
	e.GET("/healthz", echo.WrapHandler(http.HandlerFunc(service.Health)))
	service.Main(e)
}

// build indexes the titles of a catalogue.
func build(titles int) *node {
	root := &node{next: map[byte]*node{}}
	kinds := []string{"lamp", "table", "chair", "shelf", "carpet", "mirror", "desk", "sofa"}
	for i := range titles {
		title := fmt.Sprintf("%s %s%04d", kinds[i%len(kinds)], string(rune('a'+i%26)), i/8)
		n := root
		for j := range len(title) {
			child := n.next[title[j]]
			if child == nil {
				child = &node{next: map[byte]*node{}}
				n.next[title[j]] = child
			}
			n = child
		}
		n.titles = append(n.titles, &title)
	}
	return root
}

// search returns titles that begin with a prefix.
func (n *node) search(prefix string, limit int) []suggestion {
	for i := range len(prefix) {
		if n = n.next[prefix[i]]; n == nil {
			return nil
		}
	}
	var found []suggestion
	n.collect(&found, limit)
	return found
}

func (n *node) collect(found *[]suggestion, limit int) {
	for _, t := range n.titles {
		words := strings.Fields(*t)
		*found = append(*found, suggestion{Title: strings.Join(words, " "), Score: 1 / float64(len(*found)+1)})
	}
	for _, child := range n.next {
		if len(*found) >= limit {
			return
		}
		child.collect(found, limit)
	}
}
