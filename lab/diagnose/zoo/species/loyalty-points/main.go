// Command loyalty-points tells members of a shop how many points they have.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
	_ "github.com/redline-go/redline/lab/diagnose/zoo/tabledb"
)

const (
	members = 5000
	timeout = 10 * time.Second
)

// session is what handlers use of the database during one request.
type session struct{ conn *sql.Conn }

type sessionKey struct{}

// withSession gives each request a session, so that everything it reads is consistent.
func withSession(db *sql.DB) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), timeout)
			defer cancel()
			conn, err := db.Conn(ctx)
			if err != nil {
				http.Error(w, "the database is busy", http.StatusServiceUnavailable)
				return
			}
			defer func() { _ = conn.Close() }()
			next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, sessionKey{}, &session{conn})))
		})
	}
}

// get reads one value.
func (s *session) get(ctx context.Context, key string) (value string, err error) {
	rows, err := s.conn.QueryContext(ctx, "select key, value from points where key = ?", key)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", key, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&key, &value); err != nil {
			return "", err
		}
	}
	return value, rows.Err()
}

// points answers the points of a member, or of the one whose turn it is.
func points(w http.ResponseWriter, r *http.Request) {
	member := chi.URLParam(r, "member")
	if member == "any" {
		member = strconv.Itoa(rand.IntN(members))
	}
	ctx := r.Context()
	value, err := ctx.Value(sessionKey{}).(*session).get(ctx, "points-"+member)
	if err != nil {
		log.Print(err)
		http.Error(w, "try again later", http.StatusBadGateway)
		return
	}
	b := append(append([]byte(`{"member":`), member...), `,"points":`...)
	b = append(strconv.AppendQuote(b, value), '}')
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

func main() {
	db, err := sql.Open("tables", service.Backend())
	if err != nil {
		log.Fatal(err)
	}
	size, err := strconv.Atoi(os.Getenv("DB_SESSIONS"))
	if err != nil {
		log.Fatal("set DB_SESSIONS to the number of sessions")
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	r := chi.NewRouter()
	r.Get("/healthz", service.Health)
	r.With(withSession(db)).Get("/members/{member}/points", points)
	service.Main(r)
}
