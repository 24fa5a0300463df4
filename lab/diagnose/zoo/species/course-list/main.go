// Command course-list shows the courses of a school on a day.
package main

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"sync"
	"text/template"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
	_ "github.com/redline-go/redline/lab/diagnose/zoo/tabledb"
)

const (
	days    = 7
	courses = 24 // of a day
)

//go:embed day.txt
var dayText string

var (
	day   = template.Must(template.New("day").Parse(dayText))
	pages = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// Course is one course.
type Course struct {
	Title string
	Room  int
	ID    string
	lookup
}

// School knows the courses of the week.
type School struct {
	db   *sql.DB
	week [days][]Course
}

func newSchool(db *sql.DB) *School {
	s := &School{db: db}
	for d := range s.week {
		for i := range courses {
			s.week[d] = append(s.week[d], Course{Title: fmt.Sprintf("Course %d", d*100+i), Room: 100 + i, ID: fmt.Sprintf("teacher-%d", d*31+i*7)})
		}
	}
	return s
}

// names asks the database who the teachers are.
func (s *School) names(ctx context.Context, ids ...any) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, "select key, value from teachers where key in (?)", ids...)
	if err != nil {
		return nil, fmt.Errorf("read the teachers: %w", err)
	}
	defer func() { _ = rows.Close() }()
	names := make(map[string]string, len(ids))
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, err
		}
		names[id] = name
	}
	return names, rows.Err()
}

func (s *School) serve(w http.ResponseWriter, r *http.Request) {
	today := append([]Course(nil), s.week[rand.IntN(days)]...)
	page := pages.Get().(*bytes.Buffer)
	defer pages.Put(page)
	page.Reset()
	err := s.prepare(r.Context(), today)
	if err == nil {
		err = day.Execute(page, today)
	}
	if err != nil {
		log.Print(err)
		http.Error(w, "the list is not available", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(page.Bytes())
}

func main() {
	db, err := sql.Open("tables", service.Backend())
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxIdleConns(512)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /today", newSchool(db).serve)
	service.Main(mux)
}
