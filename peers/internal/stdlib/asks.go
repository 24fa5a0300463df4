package stdlib

import (
	"io"
	"net/http"

	"github.com/redline-go/redline/peers/internal/backend"
)

// Asks contains the handlers that query a backend before they answer.
type Asks struct{ *backend.Backends }

// Redis answers GET /redis.
func (a Asks) Redis(w http.ResponseWriter, r *http.Request) {
	value, err := a.Backends.Redis(r.Context())
	if err != nil {
		http.Error(w, err.Error(), backend.Status(err))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, value)
}

// Wait answers GET /wait.
func (a Asks) Wait(w http.ResponseWriter, r *http.Request) {
	if err := a.Backends.Wait(r.URL.Query().Get("wait")); err != nil {
		http.Error(w, err.Error(), backend.Status(err))
		return
	}
	Plaintext(w, r)
}

// Burn answers GET /burn.
func Burn(w http.ResponseWriter, r *http.Request) {
	if err := backend.Burn(r.URL.Query().Get("rounds")); err != nil {
		http.Error(w, err.Error(), backend.Status(err))
		return
	}
	Plaintext(w, r)
}
