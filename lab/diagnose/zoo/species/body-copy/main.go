// Command documents takes documents, and answers with their checksum and what they contain.
package main

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/pprof"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// limit is the maximum size of a document.
const limit = 8 << 20

// Summary is what is known about a document.
type Summary struct {
	Bytes    int
	Lines    int
	Checksum uint32
}

var polynomial = crc32.MakeTable(crc32.Castagnoli)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("POST /documents", func(w http.ResponseWriter, r *http.Request) {
		s, err := summarise(http.MaxBytesReader(w, r.Body, limit))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"bytes":%d,"lines":%d,"crc32c":"%08x"}`, s.Bytes, s.Lines, s.Checksum)
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	service.Main(mux)
}
