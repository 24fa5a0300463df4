// Command reports serves the reports of a warehouse, compressed for the slow lines of its branches.
package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// days is how many reports there are.
const days = 30

// report writes the report of one day: a line for each movement.
func report(day int) string {
	random := rand.New(rand.NewPCG(uint64(day), 11))
	var b strings.Builder
	b.WriteString("time,article,from,to,amount,clerk\n")
	at := time.Date(2026, 3, 1+day, 6, 0, 0, 0, time.UTC)
	for range 500 {
		at = at.Add(time.Duration(random.IntN(40)) * time.Second)
		fmt.Fprintf(&b, "%s,F-%05d,shelf %d,dock %d,%d,%s\n", at.Format(time.DateTime), random.IntN(20_000),
			random.IntN(400), random.IntN(12), 1+random.IntN(60), []string{"Ada", "Grace", "Alan", "Edsger"}[random.IntN(4)])
	}
	return b.String()
}

// zipped sends a text compressed to clients that accept that.
func zipped(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	compress(w, text)
}

func main() {
	all := make([]string, days)
	for i := range all {
		all[i] = report(i)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, r *http.Request) { zipped(w, r, all[rand.IntN(days)]) })
	service.Main(mux)
}
