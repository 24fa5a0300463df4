// Command sales-report adds up what was sold in a region, article by article.
package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/pprof"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	regions  = 20
	perSheet = 250 // sales of a region
	articles = 16
)

// Sale is one line of the sheet of a region.
type Sale struct {
	Number   int // of the article
	Article  string
	Day      int
	Pieces   int
	Cents    int64
	Returned bool
}

// sheet makes the sales of a region.
func sheet(region int) []Sale {
	random := rand.New(rand.NewPCG(uint64(region), 3))
	sales := make([]Sale, perSheet)
	for i := range sales {
		n := random.IntN(articles)
		sales[i] = Sale{
			Number: n, Article: names[n], Day: 1 + i%30,
			Pieces: 1 + random.IntN(9), Cents: int64(1000 + random.IntN(50_000)), Returned: random.IntN(12) == 0,
		}
	}
	return sales
}

// names are those of all articles, sorted.
var names = func() (all []string) {
	for i := range articles {
		all = append(all, fmt.Sprintf("article-%02d", i))
	}
	return all
}()

// sum is what was sold of an article.
type sum struct {
	pieces int
	cents  int64
}

// appendReport appends the sums of the articles as JSON.
func appendReport(b []byte, sums *[articles]sum) []byte {
	b = append(b, '[')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		s := &sums[i]
		b = append(append(b, `{"article":"`...), name...)
		b = strconv.AppendInt(append(b, `","pieces":`...), int64(s.pieces), 10)
		b = strconv.AppendInt(append(b, `,"cents":`...), s.cents, 10)
		b = append(b, '}')
	}
	return append(b, ']')
}

func main() {
	sheets := make([][]Sale, regions)
	for i := range sheets {
		sheets[i] = sheet(i)
	}
	e := echo.New()
	e.HideBanner = true
	e.GET("/healthz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/report", func(c echo.Context) error {
		region := rand.IntN(regions)
		if text := c.QueryParam("region"); text != "" {
			var err error
			if region, err = strconv.Atoi(text); err != nil || region < 0 || region >= regions {
				return c.String(http.StatusNotFound, "no such region")
			}
		}
		return c.Blob(http.StatusOK, "application/json", report(sheets[region]))
	})
	e.GET("/debug/pprof/*", echo.WrapHandler(http.HandlerFunc(pprof.Index)))
	e.GET("/debug/pprof/profile", echo.WrapHandler(http.HandlerFunc(pprof.Profile)))
	e.GET("/debug/pprof/trace", echo.WrapHandler(http.HandlerFunc(pprof.Trace)))
	service.Main(e)
}
