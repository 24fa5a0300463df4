// Command export streams the movements of an account as CSV.
package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type movement struct {
	day    time.Time
	cents  int64
	reason string
}

func main() {
	reasons := []string{"salary", "rent", "groceries", "travel", "insurance"}
	movements := make([]movement, 400)
	for i := range movements {
		movements[i] = movement{day: time.Date(2024, 1, 1+i/2, 0, 0, 0, 0, time.UTC), cents: int64(i*7919%200_000) - 100_000, reason: reasons[i%len(reasons)]}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /accounts/{id}/movements.csv", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="`+r.PathValue("id")+`.csv"`)
		if err := export(w, movements); err != nil {
			return // the client has left
		}
	})
	mux.HandleFunc("GET /healthz", service.Health)
	service.Main(mux)
}

// line writes one movement.
func line(w io.Writer, buf []byte, m movement) error {
	buf = m.day.AppendFormat(buf[:0], "2006-01-02")
	buf = append(buf, ';')
	buf = strconv.AppendInt(buf, m.cents, 10)
	buf = append(buf, ';')
	buf = append(buf, m.reason...)
	buf = append(buf, '\n')
	if _, err := w.Write(buf); err != nil {
		return fmt.Errorf("write movement: %w", err)
	}
	return nil
}
