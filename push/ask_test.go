package push

import (
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestWishes reads queries as package url does.
func TestWishes(t *testing.T) {
	pieces := []string{"topic", "format", "last_event_id", "=", "=", "&", "&", "a", "b/*", "%20", "+", "%zz", ";", "%26", ""}
	draw := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range draw.IntN(12) {
			b.WriteString(pieces[draw.IntN(len(pieces))])
		}
		query := b.String()
		want, wantErr := url.ParseQuery(query)
		got, err := (&ask{query: query}).wishes()
		switch {
		case (err != nil) != (wantErr != nil):
			t.Fatalf("%q: error %v, want %v", query, err, wantErr)
		case err != nil:
		case !slices.Equal(got.topics, want["topic"]) || got.format != want.Get("format") || got.lastID != want.Get("last_event_id"):
			t.Fatalf("%q: %+v, want %v", query, got, want)
		}
	}
}

func TestTooManyParameters(t *testing.T) {
	h := newHub(t, Options{}).Handler(nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/?topic=a"+strings.Repeat("&x", mostParameters), nil))
	if body := w.Body.String(); w.Code != 400 || !strings.Contains(body, "at most 10000") {
		t.Errorf("%d %q", w.Code, body)
	}
}
