// Command part-finder finds spare parts by a piece of their name.
package main

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	parts = 180
	limit = 5 // of an answer
)

// Part is one spare part.
type Part struct {
	Number int
	Name   string
	Cents  int
}

// Catalogue has all parts.
type Catalogue []Part

func newCatalogue() Catalogue {
	shapes := []string{"bolt", "nut", "washer", "spring", "bearing", "seal"}
	metals := []string{"steel", "brass", "zinc", "titanium"}
	var c Catalogue
	for i := range parts {
		name := fmt.Sprintf("%s %s m%d", metals[i%len(metals)], shapes[i/7%len(shapes)], 2+i%30)
		c = append(c, Part{1000 + i, name, 15 + i*13%900})
	}
	c[parts/2].Name = "gold ring"
	return c
}

// append appends a part as JSON. Names have no characters that are escaped.
func (p Part) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"number":`...), int64(p.Number), 10)
	b = append(append(b, `,"name":"`...), p.Name...)
	b = strconv.AppendInt(append(b, `","cents":`...), int64(p.Cents), 10)
	return append(b, '}')
}

func (c Catalogue) find(w http.ResponseWriter, r *http.Request) {
	text := strings.ToLower(r.URL.Query().Get("name"))
	if text == "" {
		http.Error(w, "name is a piece of a name", http.StatusBadRequest)
		return
	}
	b, n := append(make([]byte, 0, 512), '['), 0
	each(c, text, func(p Part) bool {
		if n > 0 {
			b = append(b, ',')
		}
		b = p.append(b)
		n++
		return n < limit
	})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, ']'))
}

func main() {
	c := newCatalogue()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /parts", c.find)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	service.Main(mux)
}
