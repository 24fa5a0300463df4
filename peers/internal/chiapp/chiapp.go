// Package chiapp is the service of the subjects on go-chi/chi: its router and its
// middleware, around the handlers of net/http that it routes to.
package chiapp

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/stdlib"
	"github.com/redline-go/redline/peers/internal/subject"
)

// Handler returns the service, all of it.
func Handler() http.Handler {
	r := chi.NewRouter()
	r.Get("/plaintext", stdlib.Plaintext)
	r.Get("/json", stdlib.JSON)
	r.Get("/bytes", stdlib.Sized)
	r.Get("/stream", stdlib.Stream)
	asks := stdlib.Asks{Backends: backend.Open()}
	r.Get("/redis", asks.Redis)
	r.Get("/wait", asks.Wait)
	r.Get("/postgres", asks.Postgres)
	r.Get("/fanout", asks.Fanout)
	r.Get("/burn", stdlib.Burn)
	r.Group(func(r chi.Router) {
		r.Use(middleware.RequestSize(subject.BodyLimit))
		r.Post("/echo", stdlib.Echo)
		r.Post("/upload", stdlib.Upload)
		r.Post("/order", stdlib.Order)
	})
	return r
}
