package pushnats

import (
	"slices"
	"testing"

	"github.com/redline-go/redline/push/topic"
)

func FuzzSubject(f *testing.F) {
	for _, s := range []string{"a", "a/b", "/", "a//b/", "a.b/*c/>/x y/%/%2A", "ä/*", "**", "a/**", "*/a", "%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := topicOf("p", "p."+s); err == nil && subject("p", got) != "p."+s {
			t.Errorf("%q names %q, which has the subject %q", s, got, subject("p", got))
		}
		if topic.CheckPattern(s) != nil || topic.IsPattern(s) {
			return
		}
		if got, err := topicOf("p", subject("p", s)); err != nil || got != s {
			t.Errorf("%q has the subject %q, which names %q, %v", s, subject("p", s), got, err)
		}
	})
}

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"a/b", []string{"p.a.b"}},
		{"a/*/c", []string{"p.a.*.c"}},
		{"a/**", []string{"p.a", "p.a.>"}},
		{"**", []string{"p.>"}},
		{"*", []string{"p.*"}},
		{"a/x*/ ", []string{"p.a.x%2A.%20"}},
		{"/**", []string{"p.%", "p.%.>"}},
		{"*/**", []string{"p.*", "p.*.>"}},
	} {
		if got := filters(nil, "p", c.pattern); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.pattern, got, c.want)
		}
	}
}
