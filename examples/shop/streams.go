package main

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"time"
)

// streams adds endless streams. The parameter interval is the time between two records; the
// default is one second.
func streams(mux *http.ServeMux) {
	mux.HandleFunc("GET /stream", stream("text/event-stream", func(n int, now time.Time) string {
		return fmt.Sprintf("id: %d\ndata: %d\n\n", n, now.UnixNano())
	}))
	mux.HandleFunc("GET /events", stream("text/event-stream", func(n int, now time.Time) string {
		return fmt.Sprintf("id: %d\ndata: {\"sent\": %d, \"state\": \"packed\"}\n\n", n, now.UnixMilli())
	}))
	mux.HandleFunc("GET /feed", stream("application/x-ndjson", func(n int, now time.Time) string {
		return fmt.Sprintf("{\"seq\": %d, \"meta\": {\"at\": %d}}\n", n, now.UnixMicro())
	}))
	mux.HandleFunc("GET /records", stream("application/octet-stream", func(n int, _ time.Time) string {
		record := fmt.Sprintf(`{"seq": %d}`, n)
		return string(binary.AppendUvarint(nil, uint64(len(record)))) + record
	}))
}

// stream sends records until its client has left.
func stream(kind string, record func(n int, now time.Time) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		interval := time.Second
		if text := r.URL.Query().Get("interval"); text != "" {
			var err error
			if interval, err = time.ParseDuration(text); err != nil || interval < time.Millisecond {
				http.Error(w, "an interval is a time from 1ms up", http.StatusBadRequest)
				return
			}
		}
		w.Header().Set("Content-Type", kind)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for n := 1; ; n++ {
			if _, err := w.Write([]byte(record(n, time.Now()))); err != nil || http.NewResponseController(w).Flush() != nil {
				return // the client has left
			}
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}
