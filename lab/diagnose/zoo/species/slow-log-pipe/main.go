// Command seats reserves seats in a cinema, and writes a line about each request to a collector.
package main

import (
	"bufio"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// collector is the argument with which the program is the collector.
const collector = "-collect"

// collect reads lines and ships them, a batch at a time.
func collect() {
	lines := bufio.NewScanner(os.Stdin)
	for n := 1; lines.Scan(); n++ {
		if n%8 == 0 {
			time.Sleep(10 * time.Millisecond) // the shipping of a batch
		}
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == collector {
		collect()
		return
	}
	read, write, err := os.Pipe()
	if err != nil {
		log.Fatal(err)
	}
	ship := exec.Command(os.Args[0], collector)
	ship.Stdin = read
	if err := ship.Start(); err != nil {
		log.Fatal(err)
	}
	_ = read.Close() // the collector has it
	logger := log.New(sink(write), "", log.LstdFlags|log.Lmicroseconds)
	var sold atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("POST /shows/{show}/seats", func(w http.ResponseWriter, r *http.Request) {
		seat := sold.Add(1) % 400
		logger.Printf("show=%s seat=%d agent=%q trace=%s", r.PathValue("show"), seat, r.UserAgent(), strings.Repeat("5e", 16))
		fmt.Fprintf(w, "row %d seat %d\n", seat/20, seat%20)
	})
	service.Main(mux)
	_ = ship.Process.Kill() // it has ended if it read all lines
	_ = ship.Wait()         // it was killed
}
