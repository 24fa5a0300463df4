// Command board renders the departures of a station. The lines are looked up in parallel.
package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"sync"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type departure struct {
	Line     string `json:"line"`
	To       string `json:"to"`
	Minute   int    `json:"minute"`
	Platform string `json:"platform"`
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /board/{station}", func(w http.ResponseWriter, r *http.Request) {
		station := r.PathValue("station")
		found := make([][]departure, 16)
		var wg sync.WaitGroup
		for i := range found {
			wg.Go(func() { found[i] = departures(station, fmt.Sprintf("S%d", i+1)) })
		}
		wg.Wait()
		all := slices.Concat(found...)
		slices.SortFunc(all, func(a, b departure) int { return a.Minute - b.Minute })
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all)
	})
	mux.HandleFunc("GET /healthz", service.Health)
	service.Main(mux)
}

// departures computes the departures of one line within the next hour.
func departures(station, line string) []departure {
	var out []departure
	names := []string{"Airport", "Harbour", "Old Town", "University", "Stadium"}
	var key []byte
	for minute := range 60 {
		key = fmt.Appendf(key[:0], "%s/%s/%d", station, line, minute)
		sum := uint32(0)
		for range 8 {
			sum = crc32.Update(sum, crc32.IEEETable, key)
		}
		if sum%7 != 0 {
			continue
		}
		out = append(out, departure{Line: line, To: names[sum%5], Minute: minute, Platform: fmt.Sprint(sum%12 + 1)})
	}
	return out
}
