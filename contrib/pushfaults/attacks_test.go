package pushfaults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/contrib/mercure"
	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/memory"
)

// An attack is what hostile clients do at a service.
type attack struct {
	name        string
	short, long int  // clients, without and with -full
	steps       int  // events that are published when all clients have come, without -full
	stays       bool // the clients stay to the end; otherwise they leave at once
	theirs      bool // the clients want what is theirs, and must get it
	target      string
	memory      int64 // Options.MaxBytes; 0: the usual

	start  func(h *host)                    // makes the hub
	feed   func(h *host, tick int)          // publishes other events along with each one; may be nil
	client func(w *crew, i int) (err error) // one client; its error counts if theirs is set
}

// honest is what honest clients ask for.
func (a *attack) honest() string {
	if a.target != "" {
		return a.target
	}
	return "/?topic=honest"
}

func find(name string) *attack {
	for i := range attacks {
		if attacks[i].name == name {
			return &attacks[i]
		}
	}
	fatal(fmt.Errorf("there is no attack %q", name))
	return nil
}

var attacks = slices.Concat(greedy, many)

// greedy are attacks by clients that keep or ask for much.
var greedy = []attack{
	{
		name: "stalled", short: 40, long: 200, steps: 10, stays: true,
		start: func(h *host) {
			h.serveHub(push.Options{Heartbeat: time.Second, Rules: []push.Rule{{Pattern: "big/*", History: push.History{Events: -1}}}}, nil)
		},
		feed:   feedLarge,
		client: func(w *crew, i int) error { return w.stay(true, fmt.Sprint("GET /?topic=big/", i)) },
	},
	{
		name: "stuck", short: 20, long: 20, steps: 10, stays: true,
		start: func(h *host) {
			h.serveHub(push.Options{
				QueueEvents: 1 << 14, QueueBytes: 1 << 30, Heartbeat: time.Second,
				Rules: []push.Rule{{Pattern: "stuck", History: push.History{Events: 1}}},
			}, nil)
		},
		feed:   feedStuck,
		client: func(w *crew, i int) error { return w.stay(true, "GET /?topic=stuck") },
	},
	{
		name: "replays and leaves", short: 200,
		start: func(h *host) { h.serveCluster(1000, 1) },
		client: func(w *crew, i int) error {
			return w.come(fmt.Sprint("GET /?topic=orders/1&last_event_id=", w.back(1+i%900)))
		},
	},
	{
		name: "wild patterns", short: 100,
		start: func(h *host) {
			h.serveHub(push.Options{}, nil)
			n := 1000
			if h.o.Full {
				n = 80_000
			}
			h.fill("tenant/%d/orders", n, 10_000)
		},
		client: func(w *crew, i int) error {
			pattern := []string{"nosuch/*", "*/*/nosuch", "tenant/*/nosuch", "*/7/*"}[i%4]
			return w.linger("GET /?topic=" + pattern + "&last_event_id=earliest")
		},
	},
	{
		name: "forged positions", short: 300, long: 8000, steps: 5, stays: true,
		start: func(h *host) { h.serveCluster(100, 128) },
		client: func(w *crew, i int) error {
			return w.stay(false, fmt.Sprint("GET /?topic=nosuch&last_event_id=", w.back(-5000-i%4000)))
		},
	},
}

// many are attacks by how many clients come, and what they send.
var many = []attack{
	{
		name: "connects", short: 100,
		start:  func(h *host) { h.serveHub(push.Options{Registry: memory.NewRegistry(time.Now)}, nil) },
		client: func(w *crew, i int) error { return w.come("GET /?" + topics(64, i)) },
	},
	{
		name: "connects, Mercure", short: 100, target: mercure.Path + "?topic=*",
		start:  serveMercure,
		client: func(w *crew, i int) error { return w.come("GET " + mercure.Path + "?" + topics(64, i)) },
	},
	{
		name: "grants", short: 50, memory: 256 << 20, // each of the clients counts for 1.2 MiB
		start: func(h *host) { h.serveHub(push.Options{}, grant) },
		client: func(w *crew, i int) error {
			return w.come([]string{"GET", "HEAD"}[i%2] + " /?user=many")
		},
	},
	{
		name: "queries", short: 200, long: 2000, steps: 5, stays: true,
		start: func(h *host) { h.serveHub(push.Options{}, nil) },
		client: func(w *crew, i int) error {
			return w.stay(false, fmt.Sprint("GET /?topic=t/", i, "&last_event_id=forged", i, "&pad=", strings.Repeat("x", 30<<10)))
		},
	},
	{
		name: "malformed", short: 200,
		start: func(h *host) { h.serveHub(push.Options{}, nil) },
		client: func(w *crew, i int) error {
			return w.come(malformed[i%len(malformed)])
		},
	},
	{
		name: "restart", short: 300, long: 10_000, stays: true, theirs: true,
		start: func(h *host) { h.serveCluster(10_000, 128) },
		client: func(w *crew, i int) error {
			return w.follow(fmt.Sprint("GET /?topic=orders/", i%100, "&last_event_id=", w.back(2000)), 20)
		},
	},
}

var malformed = []string{
	"GET /", "GET /?topic=", "GET /?topic=**/a", "GET /?topic=%zz", "GET /?topic=t&last_event_id=%00", "POST /?topic=t",
	"GET /?topic=t&format=none", "GET /?topic=a//b", "GET /?topic=t;u", "\x00\x01\x02", "GET  /", "GET /?topic=" + strings.Repeat("a/", 5000),
	"GET /?" + strings.Repeat("topic=a&", 3000), "GET /?topic=t HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\nX: ",
}

// topics asks for so many topics, which nobody else asks for.
func topics(n, i int) string {
	q := url.Values{}
	for k := range n {
		q.Add("topic", fmt.Sprintf("x%d-%d", i, k))
	}
	return q.Encode()
}

// feedLarge publishes events of 1 MiB, to one of the stalled clients each.
func feedLarge(h *host, tick int) {
	const n = 8
	for k := range n {
		h.must(fmt.Sprint("big/", (tick*n+k)%h.o.Clients), large)
	}
}

// feedStuck fills the sockets of the clients, and then has their queues overflow.
func feedStuck(h *host, tick int) {
	n, first := 200, 3
	if h.o.Full {
		n, first = 1000, int(phase/every)
	}
	if first <= tick && tick < first+8 {
		h.must("stuck", large)
	}
	for range n {
		h.must("stuck", []byte("x"))
	}
}

var large = bytes.Repeat([]byte("x"), 1<<20-100)

func (h *host) must(topic string, data []byte) {
	if err := h.publish(topic, data); err != nil {
		fatal(err)
	}
}

// fill publishes n events of a number of topics.
func (h *host) fill(topic string, n, topics int) {
	for i := range n {
		h.must(fmt.Sprintf(topic, i%topics), []byte("0123456789012345678901234567890123456789"))
	}
}

// A distant broker takes a while for each replay, as one of another machine does.
type distant struct{ *memory.Broker }

func (d distant) Replay(ctx context.Context, after, until uint64, filters []string, f func(push.Record) bool) (uint64, error) {
	select {
	case <-time.After(5 * time.Millisecond):
		return d.Broker.Replay(ctx, after, until, filters, f)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// serveCluster serves a hub that has just been started, at a broker that has n events. It holds so many of each
// topic itself.
func (h *host) serveCluster(n, held int) {
	b := distant{memory.NewBroker(1 << 20)}
	for i := range n {
		if _, _, err := b.Publish(context.Background(), push.Event{Topic: fmt.Sprint("orders/", i%100), Data: []byte(strconv.Itoa(i)), Time: time.Now()}); err != nil {
			fatal(err)
		}
	}
	h.serveHub(push.Options{Broker: b, History: push.History{Events: held}}, nil)
}

// serveMercure serves an endpoint that publishes its subscriptions.
func serveMercure(h *host) {
	e, err := mercure.New(context.Background(), mercure.Options{
		Publisher: pushjwt.Options{Keys: map[string]any{"": bytes.Repeat([]byte("k"), 32)}, Algorithms: []string{"HS256"}},
		Anonymous: true, Subscriptions: true, Push: push.Options{MaxBytes: h.o.MaxBytes},
	})
	if err != nil {
		fatal(err)
	}
	h.handler, h.stats = e, e.Stats
	h.publish = func(topic string, data []byte) error {
		_, err := e.Publish(context.Background(), mercure.Update{Topics: []string{topic}, Data: string(data)})
		return err
	}
}

// grant lets one user listen to many patterns, and others to one topic.
func grant(r *http.Request) (all []string, err error) {
	if r.URL.Query().Get("user") != "many" {
		return []string{"honest"}, nil
	}
	for i := range 1024 {
		all = append(all, fmt.Sprintf("tenant/%d/*/orders", i))
	}
	return all, nil
}

// back returns the position of so many events before the last.
func (w *crew) back(n int) string {
	cut := strings.LastIndex(w.o.Position, "-") + 1
	last, err := strconv.Atoi(w.o.Position[cut:])
	if err != nil {
		fatal(err)
	}
	return w.o.Position[:cut] + strconv.Itoa(last-n)
}

// linger asks for a stream, and leaves when it has read for a while; without Full at once.
func (w *crew) linger(head string) error {
	if !w.o.Full {
		return w.come(head)
	}
	conn, err := w.ask(false, 64, head)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(workers * time.Second / rate / 2))
	_, _ = conn.Read(make([]byte, 1<<16))
	return nil
}
