package push_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// A grant that is made of a user's name must not select more than that name.
func TestBadGrant(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{})
	at := serve(t, &redline.Server{Native: hub.Handler(func(*http.Request) ([]string, error) { return []string{"users/**/inbox"}, nil }).Serve})
	if status, text, _ := pushtest.Refused(t, "GET", at+"?topic=users/**", nil); status != 403 {
		t.Errorf("got %d %q, want 403", status, text)
	}
}

// Patterns count for the memory that they need.
func TestFiltersCount(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{})
	at := serve(t, &redline.Server{Native: hub.Handler(nil).Serve})
	before := hub.Stats().Bytes
	pushtest.Open(t, at, pushtest.Query{Topics: []string{"a"}})
	small := hub.Stats().Bytes - before
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("%d/%s*", i, strings.Repeat("x/", 20)))
	}
	s := pushtest.Open(t, at, pushtest.Query{Topics: many})
	if large := hub.Stats().Bytes - before - small; large < 100*small {
		t.Errorf("a topic counts %d bytes, 20 long patterns %d", small, large)
	}
	s.Close()
	pushtest.Until(t, "it has left", func() bool { return hub.Stats().Bytes == before+small })
}
