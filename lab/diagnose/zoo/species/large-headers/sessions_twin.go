//go:build twin

package main

import (
	"crypto/rand"
	"net/http"
	"sync"
)

// sessions are on this server; visitors have a key to them.
type sessions struct {
	mu    sync.Mutex
	byKey map[string][]view
	keys  []string
}

func newSessions() *sessions { return &sessions{byKey: map[string][]view{}} }

func (s *sessions) load(r *http.Request) []view {
	if c, err := r.Cookie("session"); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if views, ok := s.byKey[c.Value]; ok {
			return views
		}
	}
	return history()
}

func (s *sessions) save(w http.ResponseWriter, r *http.Request, views []view) error {
	key := rand.Text()
	if c, err := r.Cookie("session"); err == nil {
		key = c.Value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byKey[key]; !ok {
		s.keys = append(s.keys, key)
		if len(s.keys) > 1000 {
			delete(s.byKey, s.keys[0])
			s.keys = s.keys[1:]
		}
	}
	s.byKey[key] = views
	http.SetCookie(w, &http.Cookie{Name: "session", Value: key, Path: "/", HttpOnly: true, MaxAge: 3600})
	return nil
}
