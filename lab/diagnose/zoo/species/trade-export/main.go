// Command trade-export exports the trades of a day as CSV.
package main

import (
	"log"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	days   = 30
	perDay = 400
)

// Trade is one trade.
type Trade struct {
	At     time.Time
	Symbol string
	Pieces int
	Cents  int64
	Buyer  int
}

func trades(day int) []Trade {
	random := rand.New(rand.NewPCG(uint64(day), 21))
	at := time.Date(2026, 3, 1+day, 8, 0, 0, 0, time.UTC)
	list := make([]Trade, perDay)
	for i := range list {
		at = at.Add(time.Duration(random.IntN(300)) * time.Second)
		list[i] = Trade{at, []string{"ALFA", "BRAVO", "CHARLIE", "DELTA"}[random.IntN(4)], 1 + random.IntN(500), int64(random.IntN(90_000)), random.IntN(700)}
	}
	return list
}

// appendCSV appends a line.
func (t *Trade) appendCSV(b []byte) []byte {
	b = append(strconv.AppendInt(b, t.At.Unix(), 10), ',')
	b = append(append(b, t.Symbol...), ',')
	b = append(strconv.AppendInt(b, int64(t.Pieces), 10), ',')
	b = append(strconv.AppendInt(b, t.Cents, 10), ',')
	return append(strconv.AppendInt(append(b, "account-"...), int64(t.Buyer), 10), '\n')
}

var texts = sync.Pool{New: func() any { b := make([]byte, 0, 32<<10); return &b }}

// Exports writes days.
type Exports struct {
	days    [days][]Trade
	encoder *zstd.Encoder
}

func (e *Exports) serve(w http.ResponseWriter, r *http.Request) {
	text := texts.Get().(*[]byte)
	defer texts.Put(text)
	b := append((*text)[:0], "time,symbol,pieces,cents,buyer\n"...)
	day := e.days[rand.IntN(days)]
	for i := range day {
		b = day[i].appendCSV(b)
	}
	*text = b
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "zstd") {
		_, _ = w.Write(b)
		return
	}
	packed := texts.Get().(*[]byte)
	defer texts.Put(packed)
	*packed = e.encoder.EncodeAll(b, (*packed)[:0])
	w.Header().Set("Content-Encoding", "zstd")
	_, _ = w.Write(*packed)
}

func main() {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(packing), zstd.WithEncoderCRC(false))
	if err != nil {
		log.Fatal(err)
	}
	e := &Exports{encoder: encoder}
	for i := range e.days {
		e.days[i] = trades(i)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /trades.csv", e.serve)
	service.MainAdmin(mux, http.DefaultServeMux)
}
