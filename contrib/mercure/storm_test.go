package mercure

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// A stalled client takes nothing from the first update on, until gate is closed.
type stalled struct {
	header http.Header
	gate   chan struct{}
	began  chan struct{}
	once   sync.Once
	mu     sync.Mutex
	got    strings.Builder
}

func (c *stalled) Header() http.Header              { return c.header }
func (c *stalled) WriteHeader(int)                  {}
func (c *stalled) Flush()                           {}
func (c *stalled) SetWriteDeadline(time.Time) error { return nil }

func (c *stalled) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "data: ") {
		c.once.Do(func() { close(c.began) })
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got.Write(p)
}

func (c *stalled) has(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.got.String(), text)
}

// TestPrivateQueues wants what a subscriber must not get to take no place in its queue: neither private
// updates nor the events of others' subscriptions, which anybody may cause.
func TestPrivateQueues(t *testing.T) {
	serve(t, func(o *Options) { o.Push = push.Options{QueueEvents: 8} }, func(s *site) {
		for name, header := range map[string]http.Header{"anonymous": nil, "of nothing private": s.subscriber()} {
			c := &stalled{header: http.Header{}, gate: make(chan struct{}), began: make(chan struct{})}
			ctx, leave := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, "GET", Path+"?topic=*", nil)
			if header != nil {
				r.Header = header
			}
			left := make(chan struct{})
			before := s.e.Stats().Subscribers
			go func() {
				defer close(left)
				s.e.ServeHTTP(c, r)
			}()
			s.alone(before + 1)
			s.published("topic", "t", "data", "first")
			<-c.began
			q := url.Values{}
			for i := range maxSelectors {
				q.Add("topic", fmt.Sprint("x", i))
			}
			for range 3 {
				s.subscribe(nil, q.Encode()).resp.Body.Close()
				s.published("topic", "t", "data", "secret", "private", "on")
			}
			s.alone(before + 1)
			for range 20 {
				s.published("topic", "t", "topic", "u", "data", "secret", "private", "on")
			}
			s.published("topic", "t", "data", "last")
			close(c.gate)
			pushtest.Until(t, "the update that it may have has arrived", func() bool { return c.has("data: last") })
			if c.has("secret") || s.e.Stats().Endings["slow"] > 0 {
				t.Errorf("%s: %d were ended as slow", name, s.e.Stats().Endings["slow"])
			}
			leave()
			<-left
		}
	})
}

// TestReconnectionAlternates wants a subscriber to resume exactly where it was, also among updates with
// many topics that are published at the same time.
func TestReconnectionAlternates(t *testing.T) {
	history := push.History{Events: 1 << 16, Bytes: 1 << 30}
	serve(t, func(o *Options) { o.Push = push.Options{QueueEvents: 1 << 16, QueueBytes: 1 << 30, History: history} }, func(s *site) {
		many := []string{"z"}
		for i := range maxTopics - 1 {
			many = append(many, fmt.Sprint("alternate/", i))
		}
		slices.Reverse(many) // z is the last
		publish := func(data string, topics ...string) {
			if _, err := s.e.Publish(t.Context(), Update{Topics: topics, Data: data}); err != nil {
				t.Error(err)
			}
		}
		live := s.subscribe(nil, "topic=z")
		var others sync.WaitGroup
		done := make(chan struct{})
		published := 0
		others.Go(func() {
			for ; published < 4000; published++ {
				select {
				case <-done:
					return
				default:
					publish(fmt.Sprint("other ", published), "z")
				}
			}
		})
		const each = 40
		for i := range each {
			publish(fmt.Sprint("many ", i), many...)
		}
		close(done)
		others.Wait()
		var ids, data []string
		for range published + each {
			m := live.read()
			ids, data = append(ids, m.ID), append(data, string(m.Data))
		}
		for i := range ids {
			if strings.HasPrefix(data[i], "many") {
				c := s.subscribe(nil, "topic=z&lastEventID="+url.QueryEscape(ids[i]))
				c.want(data[i+1 : min(i+3, len(data))]...)
				c.resp.Body.Close()
			}
		}
	})
}
