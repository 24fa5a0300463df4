package push

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBadRules: each rule that cannot be is named, with what to do.
func TestBadRules(t *testing.T) {
	for field, o := range map[string]Options{
		"Rules[0].Pattern":       {Rules: []Rule{{Pattern: "**/a"}}},
		"Rules[0].Policy":        {Rules: []Rule{{Pattern: "a", Policy: 9}}},
		"Rules[1].QueueEvents":   {Rules: []Rule{{Pattern: "a"}, {Pattern: "b", QueueEvents: 257}}},
		"Rules[0].QueueBytes":    {Rules: []Rule{{Pattern: "a", QueueBytes: -1}}},
		"Rules[0].MaxEventBytes": {MaxEventBytes: 10, Rules: []Rule{{Pattern: "a", MaxEventBytes: 11}}},
		"Rules[1]":               {Rules: []Rule{{Pattern: "a/**"}, {Pattern: "a/b"}}},
		"Connects":               {Connects: Rate{Burst: 1}},
		"Resumptions":            {Resumptions: Rate{Every: 1, Burst: 1}},
		"QueueEvents":            {QueueEvents: -1},
	} {
		h, err := New(o)
		if err == nil {
			_ = h.Close()
		}
		var bad *OptionError
		if !errors.As(err, &bad) || bad.Field != field || !strings.Contains(bad.Why, "use") && !strings.Contains(bad.Why, "put") && !strings.Contains(bad.Why, "pattern") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestRuleOfTopic: the first rule that selects a topic applies, with what it leaves out filled in.
func TestRuleOfTopic(t *testing.T) {
	h := newHub(t, Options{QueueEvents: 100, MaxEventBytes: 10, Rules: []Rule{
		{Pattern: "a/b", MaxEventBytes: 2, ReadOnly: true},
		{Pattern: "a/*", QueueEvents: 7, Policy: DropNewest},
	}})
	if r := h.Rule("a/b"); !r.ReadOnly || r.QueueEvents != 100 || r.Policy != DropOldest || r.MaxEventBytes != 2 {
		t.Errorf("got %+v", r)
	}
	if r := h.Rule("a/c"); r.ReadOnly || r.QueueEvents != 7 || r.MaxEventBytes != 10 {
		t.Errorf("got %+v", r)
	}
	for name, want := range map[string]error{"a/b": ErrTooLarge, "a/c": nil} {
		if _, err := h.Publish(context.Background(), Event{Topic: name, Data: []byte("abc")}); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPrivate: a handler without an authorize function gives nothing of private topics, by whatever
// pattern; one with such a function gives what that grants.
func TestPrivate(t *testing.T) {
	h := newHub(t, Options{Rules: []Rule{{Pattern: "users/public"}, {Pattern: "users/**", Private: true}}})
	granting := h.Handler(func(*http.Request) ([]string, error) { return []string{"**"}, nil })
	for filter, want := range map[string]int{
		"**": 403, "users/ann": 403, "users/*": 403, "users": 403, "*/ann": 403, "*": 403, "users/**": 403, "users/public/x": 403,
		"news": 200, "news/**": 200, "users/public": 200, "news/*": 200,
	} {
		for handler, want := range map[*Handler]int{h.Handler(nil): want, granting: 200} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(closing{w}, httptest.NewRequest(http.MethodGet, "/?topic="+filter, nil))
			if w.Code != want {
				t.Errorf("%s: %d %q, want %d", filter, w.Code, w.Body, want)
			}
		}
	}
}
