// Command tickets prints the queue number of a visitor, and tells it again to the same one.
package main

import (
	"context"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"sync/atomic"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// A desk serves visitors until it closes.
type desk struct {
	open context.Context
	next atomic.Int64
}

// note is what the printer gets.
type note struct {
	number int64
	text   [2048]byte
	stop   context.CancelFunc // ends the printing
}

func (d *desk) print(ctx context.Context, n *note) int {
	if ctx.Err() != nil {
		return 0
	}
	return copy(n.text[:], fmt.Sprintf("your number is %d", n.number))
}

func main() {
	open, stop := context.WithCancel(context.Background())
	defer stop()
	d := &desk{open: open}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /number", func(w http.ResponseWriter, _ *http.Request) {
		n := &note{number: d.next.Add(1)}
		length := d.within(n)
		_, _ = w.Write(n.text[:length])
	})
	service.MainAdmin(mux, http.DefaultServeMux)
}
