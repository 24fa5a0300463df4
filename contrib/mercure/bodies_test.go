package mercure

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/push"
)

// many is an update with n topics of a name, and data of 250 KiB that begins with a text.
func many(name, text string, n int) (u Update) {
	for i := range n {
		u.Topics = append(u.Topics, fmt.Sprint(name, "/", i))
	}
	u.Data = text + strings.Repeat("x", 250<<10)
	return u
}

// wantEach reads updates that begin with texts.
func (c *client) wantEach(texts ...string) {
	c.t.Helper()
	for _, want := range texts {
		if m := c.read(); !strings.HasPrefix(string(m.Data), want+"x") {
			c.t.Fatalf("got %.20q, want %q", m.Data, want)
		}
	}
}

func (s *site) publishes(u Update) (id string) {
	s.t.Helper()
	id, err := s.e.Publish(s.t.Context(), u)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// TestBodies wants an update to take its memory, and its place in the queue of who listens to all of its
// topics, not once for each topic.
func TestBodies(t *testing.T) {
	serve(t, nil, func(s *site) {
		all, one := s.subscribe(nil, "topic=*"), s.subscribe(nil, "topic=a/99")
		private, nobody := s.subscribe(s.subscriber("a/7"), "topic=a/99"), s.subscribe(s.subscriber("b"), "topic=a/99")
		before := s.e.Stats().Bytes
		first := s.publishes(many("a", "1", maxTopics))
		if grown := s.e.Stats().Bytes - before; grown > 2<<20 {
			t.Errorf("an update of 250 KiB with 100 topics takes %d bytes", grown)
		}
		secret := many("a", "2", maxTopics)
		secret.Private = true
		s.publishes(secret)
		s.publishes(many("a", "3", maxTopics))
		for _, c := range []*client{all, one, nobody} {
			c.wantEach("1", "3")
		}
		private.wantEach("1", "2", "3")
		if st := s.e.Stats(); st.Endings["slow"] > 0 || st.Subscribers != 4 {
			t.Errorf("%+v", st)
		}
		for _, query := range []string{"topic=*", "topic=a/5&topic=a/7", "topic=a/0"} {
			s.subscribe(http.Header{"Last-Event-ID": {first}}, query).wantEach("3")
		}
		s.subscribe(nil, "topic=a/50&lastEventID=earliest").wantEach("1", "3")
	})
}

// TestBodiesDropped wants a subscriber that resumes to hear of an update that is not kept any more, and one that
// gets it under its first topic not to.
func TestBodiesDropped(t *testing.T) {
	serve(t, func(o *Options) { o.Push = push.Options{MaxBytes: 8 << 20} }, func(s *site) {
		before := s.publishes(Update{Topics: []string{"a/0", "a/1"}, Data: "short"})
		var texts []string
		for i := range 20 {
			texts = append(texts, fmt.Sprint(i))
			s.publishes(many("a", texts[i], 3))
		}
		c := s.subscribe(http.Header{"Last-Event-ID": {before}}, "topic=a/1")
		if got := c.resp.Header.Get("Last-Event-ID"); got != earliestID {
			t.Errorf("the stream goes on after %q", got)
		}
		kept := s.e.bodies.most / (250 << 10)
		c.wantEach(texts[len(texts)-int(kept):]...)
		if got := s.e.Stats().Bytes; got > 8<<20 {
			t.Errorf("%d bytes", got)
		}
		// The first topic has a history of its own.
		c = s.subscribe(http.Header{"Last-Event-ID": {before}}, "topic=a/0&topic=a/2")
		held := s.e.hub.Stats().Events
		if got := c.resp.Header.Get("Last-Event-ID"); got != before && held >= 3*len(texts)+2 {
			t.Errorf("the stream goes on after %q", got)
		}
		m := c.read()
		at := slices.IndexFunc(texts, func(text string) bool { return strings.HasPrefix(string(m.Data), text+"x") })
		if at < 0 || at > len(texts)-int(kept) {
			t.Fatalf("it begins with %.20q", m.Data)
		}
		c.wantEach(texts[at+1:]...)
	})
}
