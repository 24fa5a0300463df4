// Command vouchers redeems gift vouchers.
package main

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// A till knows what each voucher is worth.
type till struct {
	mu    sync.Mutex
	cents map[string]int
}

// redeem takes an amount off a voucher, and fills it up again when it is empty.
func (t *till) redeem(code string, cents int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.cents[code] - cents
	if left < 0 {
		left = 10_000
	}
	t.cents[code] = left
	return left
}

func main() {
	t := &till{cents: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("POST /vouchers/{code}", func(w http.ResponseWriter, r *http.Request) {
		left := t.redeem(r.PathValue("code"), 500)
		settle(r.Context())
		fmt.Fprintf(w, "{\"left\":%d}\n", left)
	})
	service.Main(mux)
}
