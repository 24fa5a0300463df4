package subscribe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/ws"
)

// relay is a server that sends what is published to a topic to its subscribers. Between the two
// is tamper, which returns the copies that a subscriber gets of the n-th event; nil: one.
type relay struct {
	tamper    func(n int, body string) []string
	websocket bool

	mu     sync.Mutex
	topics map[string]map[chan string]bool
	seen   []string // topic and body of what was published, in order
	pongs  atomic.Int64
	greets sync.Map // what was sent on WebSockets
	joins  atomic.Int64
}

func (s *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	topic := r.URL.Query().Get("topic")
	switch {
	case r.Method == http.MethodPost:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.publish(topic, string(body))
		w.WriteHeader(http.StatusNoContent)
	case s.websocket:
		s.socket(w, r, topic)
	default:
		events, leave := s.join(topic)
		defer leave()
		w.Header().Set("Content-Type", "text/event-stream")
		for http.NewResponseController(w).Flush() == nil {
			select {
			case <-r.Context().Done():
				return
			case body := <-events:
				fmt.Fprintf(w, "data: %s\n\n", body)
			}
		}
	}
}

func (s *relay) join(topic string) (events chan string, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joins.Add(1)
	events = make(chan string, 10_000)
	if s.topics == nil {
		s.topics = map[string]map[chan string]bool{}
	}
	if s.topics[topic] == nil {
		s.topics[topic] = map[chan string]bool{}
	}
	s.topics[topic][events] = true
	return events, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.topics[topic], events)
	}
}

func (s *relay) publish(topic, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, topic+" "+body)
	copies := []string{body}
	if s.tamper != nil {
		copies = s.tamper(len(s.seen), body)
	}
	for events := range s.topics[topic] {
		for _, c := range copies {
			events <- c
		}
	}
}

// socket serves a subscriber on a WebSocket: pings before each message, which is in two frames.
func (s *relay) socket(w http.ResponseWriter, r *http.Request, topic string) {
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	events, leave := s.join(topic)
	defer leave()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		ws.Accept(r.Header.Get("Sec-WebSocket-Key")))
	gone := make(chan struct{})
	go s.hear(conn, in.Reader, gone)
	for {
		select {
		case <-gone:
			return
		case body := <-events:
			half := len(body) / 2
			fmt.Fprintf(conn, "\x89\x02hi\x01%c%s\x80%c%s", half, body[:half], len(body)-half, body[half:])
		}
	}
}

// hear reads the frames of a client, which are short and masked.
func (s *relay) hear(conn net.Conn, in *bufio.Reader, gone chan struct{}) {
	defer close(gone)
	for {
		head := make([]byte, 6)
		if _, err := io.ReadFull(in, head); err != nil || head[1]&0x80 == 0 {
			return
		}
		payload := make([]byte, head[1]&0x7f)
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		for i := range payload {
			payload[i] ^= head[2+i%4]
		}
		switch head[0] {
		case 0x8A:
			s.pongs.Add(1)
		case 0x81:
			s.greets.Store(string(payload), true)
		}
	}
}

// pushOf returns a run of eight subscribers of two topics of s, with a thousand events a second.
func pushOf(t *testing.T, s *relay) *spec.Spec {
	t.Helper()
	order := specOf(t, s.ServeHTTP)
	order.Request = []byte("GET /?topic={topic} HTTP/1.1\r\nHost: x\r\n\r\n")
	order.Connections = 8
	order.Listen.Stamp, order.Listen.ID, order.Listen.Topics = "ts", "seq", 2
	order.Listen.Publish = &spec.Publish{
		Addr: order.Addr, Head: []byte("POST /?topic={topic} HTTP/1.1\r\nHost: x\r\n"), Rate: 1000, Size: 64, Connections: 16,
	}
	return order
}

// result runs a specification, and returns its result.
func result(t *testing.T, order *spec.Spec) (*spec.Result, *spec.Subscribed, *spec.Published) {
	t.Helper()
	all, err := trace(t, t.Context(), order, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := all[len(all)-1].Result
	if r == nil || r.Listen == nil || r.Listen.Publish == nil {
		t.Fatalf("the last event is %+v", all[len(all)-1])
	}
	return r, r.Listen, r.Listen.Publish
}

// What is published has the form that is documented, and numbers without holes in each topic; all
// of it arrives.
func TestPublish(t *testing.T) {
	s := new(relay)
	r, l, p := result(t, pushOf(t, s))
	if l.Events == 0 || l.Stamped != l.Events || l.Numbered != l.Events || l.Negative != 0 || len(r.Errors) != 0 {
		t.Errorf("%+v, errors %v", l, r.Errors)
	}
	if l.Missed+l.Duplicated+p.Lost != 0 || p.Sent == 0 || p.Accepted == 0 || p.Topics != 2 || len(p.Errors) != 0 {
		t.Errorf("%+v, %+v", l, p)
	}
	next := map[string]uint64{}
	for _, e := range s.seen {
		topic, body, _ := strings.Cut(e, " ")
		var event struct {
			TS   int64
			Seq  uint64
			Text string
		}
		next[topic]++
		if err := json.Unmarshal([]byte(body), &event); err != nil || len(body) != 64 || event.TS == 0 || event.Text == "" || event.Seq != next[topic] {
			t.Fatalf("topic %q, event %d: %q, %v", topic, next[topic], body, err)
		}
	}
	if len(next) != 2 || next["0"] == 0 || next["1"] == 0 {
		t.Errorf("events by topic: %v", next)
	}
}

// Each fault of a server is counted as what it is.
func TestPublishTruth(t *testing.T) {
	every := func(n int) func(int) bool { return func(i int) bool { return i%n == 0 } }
	for name, test := range map[string]struct {
		tamper func(n int, body string) []string
		check  func(l *spec.Subscribed, p *spec.Published) bool
	}{
		"a hole": {func(n int, body string) []string {
			if every(10)(n) {
				return nil
			}
			return []string{body}
		}, func(l *spec.Subscribed, _ *spec.Published) bool { return l.Missed > 0 && l.Duplicated == 0 }},
		"twice": {func(n int, body string) []string {
			if every(10)(n) {
				return []string{body, body}
			}
			return []string{body}
		}, func(l *spec.Subscribed, p *spec.Published) bool { return l.Duplicated > 0 && l.Missed+p.Lost == 0 }},
		"nothing after the first": {func(n int, body string) []string {
			if n > 2 {
				return nil
			}
			return []string{body}
		}, func(_ *spec.Subscribed, p *spec.Published) bool { return p.Lost > 0 }},
		"nothing at all": {
			func(int, string) []string { return nil },
			func(l *spec.Subscribed, p *spec.Published) bool { return p.Lost > 0 && l.Quiet == 8 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			order := pushOf(t, &relay{tamper: test.tamper})
			if name != "twice" {
				order.Timeout = 5 * time.Second // how long it waits for what is lost
			}
			if _, l, p := result(t, order); !test.check(l, p) {
				t.Errorf("%+v, %+v", l, p)
			}
		})
	}
}

// A server that refuses to publish is no reason to stop.
func TestPublishRefused(t *testing.T) {
	order := pushOf(t, new(relay))
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	order.Listen.Publish.Addr = s.Listener.Addr().String()
	order.Timeout = 5 * time.Second
	if _, _, p := result(t, order); p.Errors["status"] == 0 || p.Accepted != 0 || p.Sent == 0 {
		t.Errorf("%+v", p)
	}
}

// Over TLS, subscribers on HTTP/2 and publishers on HTTP/1.1.
func TestPublishSecure(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		relay := new(relay)
		s := httptest.NewUnstartedServer(relay)
		s.EnableHTTP2 = http2
		s.StartTLS()
		t.Cleanup(s.Close)
		order := pushOf(t, relay)
		order.Addr, order.TLS = s.Listener.Addr().String(), &spec.TLS{Insecure: true}
		order.Listen.Publish.Addr, order.Listen.Publish.TLS = order.Addr, order.TLS
		order.Listen.Topics = 0
		if http2 {
			order.HTTP2, order.Streams, order.Connections = true, 4, 2
		}
		if _, l, p := result(t, order); l.Events == 0 || l.Missed+l.Duplicated+p.Lost != 0 || p.Accepted == 0 || len(p.Errors) != 0 {
			t.Errorf("HTTP/2 %v: %+v, %+v", http2, l, p)
		}
	}
}

// Subscribers that leave and join miss nothing while they are there.
func TestChurn(t *testing.T) {
	s := new(relay)
	order := pushOf(t, s)
	order.Listen.Churn = 200
	r, l, p := result(t, order)
	if l.Left == 0 || l.Joined == 0 || l.Reconnects != 0 || l.Missed+l.Duplicated+p.Lost+l.Cut != 0 || len(r.Errors) != 0 {
		t.Errorf("%+v, %+v, errors %v", l, p, r.Errors)
	}
	if n := s.joins.Load(); uint64(n) < 8+l.Joined {
		t.Errorf("%d joined at the server, %d at the generator", n, l.Joined)
	}
}

// Messages of a WebSocket are records, whatever frames they are in; pings are answered.
func TestWebSocket(t *testing.T) {
	s := &relay{websocket: true}
	order := pushOf(t, s)
	key := "cmVkbGluZS1sb2FkLWtleQ=="
	order.Request = []byte("GET /?topic={topic} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + "\r\n\r\n")
	order.Listen.Format = spec.FormatMessage
	order.Listen.WebSocket = &spec.WebSocket{Key: key, Send: []string{"subscribe {topic}"}}
	r, l, p := result(t, order)
	if l.Events == 0 || l.Missed+l.Duplicated+p.Lost != 0 || l.Stamped != l.Events || len(r.Errors) != 0 {
		t.Errorf("%+v, %+v, errors %v", l, p, r.Errors)
	}
	if s.pongs.Load() == 0 {
		t.Error("no ping was answered")
	}
	for _, want := range []string{"subscribe 0", "subscribe 1"} {
		if _, ok := s.greets.Load(want); !ok {
			t.Errorf("no subscriber sent %q", want)
		}
	}
}

// Slow subscribers receive little or nothing, and no figure of the others has a part of them.
func TestSlowSubscribers(t *testing.T) {
	for _, rate := range []int64{0, 1000} {
		order := pushOf(t, new(relay))
		order.Listen.Slow = &spec.SlowRead{Share: 0.25, Rate: rate}
		_, l, p := result(t, order)
		for tries := 1; tries < 4 && l.Slow != nil && (l.Events/6 < 50 || rate > 0 && l.Slow.Events == 0); tries++ {
			order.Window *= 4 // a slow machine has read too little to compare
			_, l, p = result(t, order)
		}
		slow := l.Slow
		if slow == nil || slow.Subscribers != 2 || (rate == 0) != (slow.Events == 0) {
			t.Errorf("%d bytes a second: %+v", rate, slow)
			continue
		}
		if each := l.Events / 6; slow.Events/2 >= each || l.Missed+l.Duplicated+p.Lost != 0 {
			t.Errorf("%d bytes a second: %+v, %+v, %+v", rate, l, slow, p)
		}
	}
}
