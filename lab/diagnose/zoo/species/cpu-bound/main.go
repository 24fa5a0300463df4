// Command search suggests words for what a user has typed.
package main

import (
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	vocabulary  = 3000
	suggestions = 5
)

// words makes the words that can be suggested.
func words() []string {
	random := rand.New(rand.NewPCG(3, 4))
	syllables := strings.Fields("an be cor do el fa gen hi in ka lo mi no op ra se tu um va wi")
	all := make([]string, vocabulary)
	for i := range all {
		for range 2 + random.IntN(3) {
			all[i] += syllables[random.IntN(len(syllables))]
		}
	}
	return all
}

// distance is the number of letters to insert, delete or replace, by Levenshtein.
func distance(a, b string) int {
	var row [65]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := last
			if a[i] != b[j] {
				next = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

func main() {
	index := newIndex(words())
	e := echo.New()
	e.HideBanner = true
	e.GET("/healthz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/suggest", func(c echo.Context) error {
		typed := strings.ToLower(c.QueryParam("q"))
		if typed == "" || len(typed) > 64 {
			return c.String(http.StatusBadRequest, "q has 1 to 64 letters")
		}
		return c.String(http.StatusOK, strings.Join(index.nearest(typed), "\n"))
	})
	service.MainAdmin(e, http.DefaultServeMux)
}
