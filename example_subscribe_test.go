package redline_test

import (
	"sync"
	"sync/atomic"

	"github.com/redline-go/redline"
)

// A ticker is a topic with the subscribers of one loop.
type ticker struct {
	mu   sync.Mutex
	list []*reader
}

// A reader is one client. It is sent the latest price, and misses others if it is slow.
type reader struct {
	sub    *redline.Subscription
	latest atomic.Pointer[redline.Frame] // not sent yet
}

// Turn implements redline.Subscriber.
func (r *reader) Turn(t *redline.Turn) {
	if f := r.latest.Swap(nil); f != nil && !t.WriteFrame(f) {
		r.latest.CompareAndSwap(nil, f) // for the turn that comes when there is room
	}
}

// Gone implements redline.Subscriber.
func (r *reader) Gone(error) {}

// publish has one walk give the price to all readers.
func (k *ticker) publish(price string) {
	f := redline.NewFrame([]byte("data: " + price + "\n\n"))
	k.mu.Lock()
	list := k.list // which is only appended to
	k.mu.Unlock()
	if len(list) == 0 {
		return
	}
	list[0].sub.Loop().Walk(func() *redline.Subscription {
		if len(list) == 0 {
			return nil
		}
		r := list[0]
		list = list[1:]
		r.latest.Store(f)
		return r.sub
	})
}

// A server with one loop pushes prices to any number of clients, with one message for each
// price. A real topic has a list for each loop, and removes readers that are gone.
func ExampleCtx_Subscribe() {
	prices := new(ticker)
	server := &redline.Server{Loops: 1, Native: func(c *redline.Ctx) {
		if err := c.SetHeader("Content-Type", "text/event-stream"); err != nil {
			return
		}
		r := new(reader)
		prices.mu.Lock()
		defer prices.mu.Unlock()
		r.sub = c.Subscribe(r)
		prices.list = append(prices.list, r)
	}}
	defer server.Close()
	prices.publish("42.50")
}
