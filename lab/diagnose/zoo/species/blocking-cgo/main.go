// Command seals signs vouchers. The key is in a security module, which a library of its maker
// talks to.
package main

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type voucher struct {
	Code string `json:"code"`
	Seal string `json:"seal"`
}

func main() {
	s := newSealer()
	r := chi.NewRouter()
	r.Get("/healthz", service.Health)
	r.Post("/vouchers/{code}", func(w http.ResponseWriter, r *http.Request) {
		code := chi.URLParam(r, "code")
		h := fnv.New64a()
		_, _ = h.Write([]byte(code))
		_, _ = h.Write(s.key())
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(voucher{Code: code, Seal: hex.EncodeToString(h.Sum(nil))})
	})
	service.Main(r)
}
