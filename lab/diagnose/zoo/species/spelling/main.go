// Command spelling answers which known word is meant by one with a mistake.
package main

import (
	"context"
	"log"
	"math/rand/v2"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	maxWord = 24
	words   = 1500
)

// dictionary makes the known words.
func dictionary() []string {
	syllables := []string{"ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu"}
	random := rand.New(rand.NewPCG(11, 4))
	known, list := map[string]bool{}, []string(nil)
	for len(list) < words {
		w := ""
		for range 3 + random.IntN(3) {
			w += syllables[random.IntN(len(syllables))]
		}
		if !known[w] {
			known[w] = true
			list = append(list, w)
		}
	}
	return list
}

// distance returns how many letters have to be changed, added or removed to make b of a. Both
// have at most maxWord letters.
func distance(a, b string) int {
	var row [maxWord + 1]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func main() {
	ln, err := service.Listen()
	if err != nil {
		log.Fatal(err)
	}
	index := newIndex(dictionary())
	server := &fasthttp.Server{NoDefaultServerHeader: true, Handler: func(c *fasthttp.RequestCtx) {
		switch string(c.Path()) {
		case "/suggest":
			word := string(c.QueryArgs().Peek("word"))
			if word == "" || len(word) > maxWord {
				c.Error("word has 1 to 24 letters", fasthttp.StatusBadRequest)
				return
			}
			c.SetContentType("text/plain; charset=utf-8")
			c.SetBodyString(index.nearest(word))
		case "/healthz":
		default:
			c.Error("no such page", fasthttp.StatusNotFound)
		}
	}}
	ctx, stop := service.Terminated()
	defer stop()
	go func() {
		if err := server.Serve(ln); err != nil {
			log.Fatal(err)
		}
	}()
	service.Announce(ln.Addr())
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_ = server.ShutdownWithContext(last) // what is not done by then ends with the process
}
