// Command profile shows the visitor's own page. The session has what the visitor looked at.
package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// A view is an article that the visitor looked at.
type view struct {
	SKU   string `json:"s"`
	Title string `json:"t"`
	Cents int    `json:"c"`
}

const remembered = 120

func main() {
	sessions := newSessions()
	r := chi.NewRouter()
	r.Get("/healthz", service.Health)
	r.Get("/profile", func(w http.ResponseWriter, r *http.Request) {
		views := sessions.load(r)
		views = append(views, view{SKU: "lamp-17", Title: "Desk lamp with a long arm, black", Cents: 4990})
		if len(views) > remembered {
			views = views[len(views)-remembered:]
		}
		if err := sessions.save(w, r, views); err != nil {
			http.Error(w, "session was not stored", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>Profile</title><h1>Welcome back</h1><p>" + views[len(views)-1].Title))
	})
	service.Main(r)
}

// history is what a visitor without a session is assumed to have seen: the week's offers.
func history() []view {
	views := make([]view, remembered)
	for i := range views {
		views[i] = view{SKU: "offer", Title: "An offer of this week, in several colours", Cents: 990 + i}
	}
	return views
}
