// Command sensor-intake takes the readings of devices, and keeps the last ones of each device.
package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	_ "net/http/pprof"
	"strconv"
	"sync"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	maxBody    = 64 << 10
	maxDevices = 10_000
)

var (
	errMessage = errors.New("a message has a device and readings, which have kind, at and data")
	bodies     = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, maxBody)) }}
)

// state is the last that is known of a device.
type state struct {
	celsius, humidity, volts float64
	moved                    bool
	latest                   int64 // seconds since 1970
	readings                 int
}

// Devices are all devices that have sent something.
type Devices struct {
	mu   sync.Mutex
	last map[string]state
}

// keep replaces the state of a device.
func (d *Devices) keep(device string, s state) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.last[device]; !known && len(d.last) >= maxDevices {
		return false
	}
	d.last[device] = s
	return true
}

func (d *Devices) take(w http.ResponseWriter, r *http.Request) {
	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if _, err := io.Copy(body, http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	device, s, err := decode(body.Bytes())
	if err != nil || device == "" {
		http.Error(w, errMessage.Error(), http.StatusBadRequest)
		return
	}
	if !d.keep(device, s) {
		http.Error(w, "too many devices", http.StatusInsufficientStorage)
		return
	}
	b := strconv.AppendInt([]byte(`{"taken":`), int64(s.readings), 10)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '}'))
}

func main() {
	d := &Devices{last: map[string]state{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("POST /readings", d.take)
	service.MainAdmin(mux, http.DefaultServeMux)
}
