// Command telemetry receives readings from meters. A meter connects, sends one reading and
// disconnects. Addresses are admitted by the access service.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type reading struct {
	Meter string  `json:"meter"`
	Value float64 `json:"value"`
}

func main() {
	ln, err := listen(backlog)
	if err != nil {
		log.Fatal(err)
	}
	var total atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /readings", func(w http.ResponseWriter, r *http.Request) {
		var v reading
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&v); err != nil {
			http.Error(w, "reading is not valid", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]int64{"received": total.Add(1)})
	})
	mux.HandleFunc("GET /healthz", service.Health)
	srv := &http.Server{Handler: mux}
	door := admit(srv, ln, &access{"http://" + service.Backend() + "/stock/", &http.Client{
		Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128},
	}})
	if err := service.Serve(srv, door); err != nil {
		log.Fatal(err)
	}
}

// listen listens on $PORT with a queue of n connections.
func listen(n int) (net.Listener, error) {
	port := 0
	if p := os.Getenv("PORT"); p != "" {
		var err error
		if port, err = strconv.Atoi(p); err != nil {
			return nil, fmt.Errorf("PORT is %q: write a number", p)
		}
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("create socket: %w", err)
	}
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return nil, fmt.Errorf("configure socket: %w", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err != nil {
		return nil, fmt.Errorf("bind port %d: %w", port, err)
	}
	if err := syscall.Listen(fd, n); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return net.FileListener(f)
}

// access asks whether an address may connect.
type access struct {
	url  string
	http *http.Client
}

func (a *access) allows(addr net.Addr) bool {
	resp, err := a.http.Get(a.url + addr.String())
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return false
	}
	return resp.StatusCode == http.StatusOK
}
