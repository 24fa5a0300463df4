package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// A note is an entry of the service.
type note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// notes is the service.
type notes struct {
	mu   sync.Mutex
	all  map[int]note
	last int // ID
}

func newNotes() *notes { return &notes{all: map[int]note{}} }

func (n *notes) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.RequestID, middleware.Recoverer, middleware.Compress(5, "application/json"))
	r.Use(middleware.Timeout(5 * time.Second))
	r.Route("/notes", func(r chi.Router) {
		r.Get("/", n.list)
		r.With(middleware.AllowContentType("application/json", "application/x-www-form-urlencoded"), middleware.RequestSize(64<<10)).Post("/", n.add)
		r.Route("/{id}", func(r chi.Router) {
			r.Get("/", n.get)
			r.Delete("/", n.remove)
		})
	})
	return r
}

func (n *notes) list(w http.ResponseWriter, _ *http.Request) {
	n.mu.Lock()
	all := slices.AppendSeq([]note{}, maps.Values(n.all))
	n.mu.Unlock()
	slices.SortFunc(all, func(a, b note) int { return cmp.Compare(a.ID, b.ID) })
	answer(w, http.StatusOK, all)
}

func (n *notes) add(w http.ResponseWriter, r *http.Request) {
	var got note
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	n.last++
	got.ID = n.last
	n.all[got.ID] = got
	n.mu.Unlock()
	w.Header().Set("Location", "/notes/"+strconv.Itoa(got.ID))
	answer(w, http.StatusCreated, got)
}

func (n *notes) get(w http.ResponseWriter, r *http.Request) {
	id, ok := noteID(w, r)
	if !ok {
		return
	}
	n.mu.Lock()
	found, ok := n.all[id]
	n.mu.Unlock()
	if !ok {
		http.Error(w, "no such note", http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, found)
}

func (n *notes) remove(w http.ResponseWriter, r *http.Request) {
	id, ok := noteID(w, r)
	if !ok {
		return
	}
	n.mu.Lock()
	delete(n.all, id)
	n.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// noteID reads the parameter of the route, and answers if it is not a number.
func noteID(w http.ResponseWriter, r *http.Request) (id int, ok bool) {
	id, err := strconv.Atoi(chi.URLParam(r, "id"))
	if err != nil {
		http.Error(w, "a note's ID is a number", http.StatusBadRequest)
		return 0, false
	}
	return id, true
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has left: nobody can be told
}
