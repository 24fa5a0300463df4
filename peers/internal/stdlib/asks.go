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
	said(w, value, err)
}

// Postgres answers GET /postgres.
func (a Asks) Postgres(w http.ResponseWriter, r *http.Request) {
	value, err := a.Backends.Postgres(r.Context())
	said(w, value, err)
}

// Fanout answers GET /fanout.
func (a Asks) Fanout(w http.ResponseWriter, r *http.Request) {
	joined, err := a.Backends.Fanout(r.Context(), r.URL.Query().Get("wait"))
	said(w, joined, err)
}

// said answers with what a backend said.
func said(w http.ResponseWriter, text string, err error) {
	if err != nil {
		http.Error(w, err.Error(), backend.Status(err))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, text)
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
