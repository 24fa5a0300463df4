// Command receipts writes receipts as PDF-like text, in a buffer from a pool.
package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// A sheet is the page on which a receipt is written.
type sheet struct {
	used  int
	bytes [512 << 10]byte
}

func (s *sheet) line(text string) { s.used += copy(s.bytes[s.used:], text) }

var sheets = sync.Pool{New: func() any { return new(sheet) }}

// write writes the lines of a receipt.
func write(s *sheet, items int) []byte {
	s.used = 0
	for i := range items {
		s.line("BT /F1 12 Tf 72 " + strconv.Itoa(720-14*i) + " Td (item " + strconv.Itoa(i) + ") Tj ET\n")
	}
	return s.bytes[:s.used]
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /receipts/{items}", func(w http.ResponseWriter, r *http.Request) {
		items, err := strconv.Atoi(r.PathValue("items"))
		if err != nil || items < 1 || items > 40 {
			http.Error(w, fmt.Sprintf("a receipt has 1 to 40 items, not %q", r.PathValue("items")), http.StatusBadRequest)
			return
		}
		receipt(w, items)
	})
	service.Main(mux)
}
