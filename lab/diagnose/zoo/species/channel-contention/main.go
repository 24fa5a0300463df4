// Command metrics adds up what other services count. A request has a line "NAME VALUE" for each
// sample.
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// Sample is one line of a request.
type Sample struct {
	Name  string
	Value int64
}

// parse reads one line.
func parse(line string) (Sample, error) {
	name, value, ok := strings.Cut(line, " ")
	if !ok {
		return Sample{}, fmt.Errorf("%q is not NAME VALUE", line)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return Sample{}, fmt.Errorf("%q is not NAME VALUE", line)
	}
	return Sample{name, n}, nil
}

// Sums are the sums of all names. They belong to one goroutine.
type Sums map[string]int64

func main() {
	c := newCollector()
	go c.run()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("POST /samples", func(w http.ResponseWriter, r *http.Request) {
		lines := bufio.NewScanner(http.MaxBytesReader(w, r.Body, 1<<20))
		b := c.begin()
		for lines.Scan() {
			s, err := parse(lines.Text())
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			b.add(s)
		}
		b.done()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /sums", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintln(w, c.sum(r.URL.Query().Get("name")))
	})
	service.Main(mux)
}
