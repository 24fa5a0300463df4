// Command labels prints parcel labels: requests wait until the printer has theirs.
package main

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// A job is one label.
type job struct {
	parcel string
	label  string
	done   atomic.Bool
	ready  chan struct{}
}

// A printer makes labels, one after the other.
type printer struct{ jobs chan *job }

func (p *printer) work() {
	for j := range p.jobs {
		j.label = fmt.Sprintf("^XA^FO50,50^BCN,100^FD%s^FS^XZ", j.parcel)
		j.done.Store(true)
		close(j.ready)
	}
}

func main() {
	p := &printer{jobs: make(chan *job, 1024)}
	go p.work()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /labels/{parcel}", func(w http.ResponseWriter, r *http.Request) {
		j := &job{parcel: r.PathValue("parcel"), ready: make(chan struct{})}
		p.jobs <- j
		if !wait(r.Context(), j) {
			return // the client has left
		}
		fmt.Fprintln(w, j.label)
	})
	service.Main(mux)
}
