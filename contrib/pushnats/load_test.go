package pushnats_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/push/pushtest"
)

var scale = flag.Int("scale", 1, "multiply the events and faults of the tests of faults")

// A load has publishers, each with a topic of its own, and readers of all topics, which move
// to another node when their stream ends.
type load struct {
	t      testing.TB
	client *http.Client
	each   int // events of a publisher

	mu    sync.Mutex
	nodes []string

	acked   atomic.Int64
	retried atomic.Int64
	work    sync.WaitGroup
	reading sync.WaitGroup
	readers []*reader
	cancel  context.CancelFunc
}

const (
	publishers = 4
	listeners  = 6
)

// newLoad starts readers, and waits until all listen.
func newLoad(t testing.TB, each int, nodes ...string) *load {
	t.Helper()
	l := &load{t: t, each: each, nodes: nodes, client: &http.Client{Transport: &http.Transport{}}}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	t.Cleanup(l.stop)
	for i := range listeners {
		r := &reader{load: l, turn: i, listens: make(chan struct{})}
		l.readers = append(l.readers, r)
		l.reading.Go(func() { r.run(ctx) })
	}
	for _, r := range l.readers {
		select {
		case <-r.listens:
		case <-time.After(pushtest.Patience):
			t.Fatal("a reader does not get a stream")
		}
	}
	return l
}

// stop ends the readers.
func (l *load) stop() {
	l.cancel()
	l.reading.Wait()
	l.work.Wait()
	l.client.CloseIdleConnections()
}

// node returns the URL of a node.
func (l *load) node(turn int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[turn%len(l.nodes)]
}

// set replaces a node.
func (l *load) set(i int, at string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes[i] = at
}

// publish starts the publishers. Each event is sent until it is acknowledged, to another
// node each time, under the same ID.
func (l *load) publish(prefix string) {
	for p := range publishers {
		l.work.Go(func() {
			for i, turn := 0, p; i < l.each; turn++ {
				at := fmt.Sprintf("%s/publish?topic=t/%d&id=%s-%d-%d", l.node(turn), p, prefix, p, i)
				if err := l.post(at, strconv.Itoa(i)); err != nil {
					l.retried.Add(1)
					time.Sleep(10 * time.Millisecond)
					continue
				}
				l.acked.Add(1)
				i++
			}
		})
	}
}

func (l *load) post(at, data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(data))
	if err != nil {
		return err
	}
	resp, err := l.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}

// reached waits until a share of all events, in percent, was acknowledged.
func (l *load) reached(percent int) {
	l.t.Helper()
	l.until(fmt.Sprintf("%d %% acknowledged", percent), func() bool {
		return l.acked.Load() >= int64(l.each*publishers*percent/100)
	})
}

// until waits for as long as a fault test may take.
func (l *load) until(what string, ok func() bool) {
	l.t.Helper()
	for end := time.Now().Add(time.Duration(*scale) * 2 * pushtest.Patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			for i, r := range l.readers {
				l.t.Logf("reader %d: %s", i, r)
			}
			l.t.Fatalf("waited too long: %s; %d acknowledged, %d retried", what, l.acked.Load(), l.retried.Load())
		}
	}
}

// finish waits until every event was acknowledged and every reader has all, and checks what
// they saw.
func (l *load) finish(what string) {
	l.t.Helper()
	l.work.Wait()
	l.until("all readers have all events", func() bool {
		for _, r := range l.readers {
			if !r.complete(l.each) {
				return false
			}
		}
		return true
	})
	l.stop()
	moves, read := 0, 0
	for i, r := range l.readers {
		moves += r.moves - 1
		read += r.read
		if r.holes+r.repeated+r.gaps > 0 || r.read != l.each*publishers {
			l.t.Errorf("reader %d: %s", i, r)
		}
	}
	l.t.Logf("%s: %d events acknowledged, %d attempts failed, %d delivered to %d readers who moved %d times: none lost, repeated, out of order or behind a gap",
		what, l.acked.Load(), l.retried.Load(), read, len(l.readers), moves)
}

// A reader follows all topics, and resumes where its last stream has ended.
type reader struct {
	*load
	turn    int
	listens chan struct{} // closed when the first stream has begun

	mu                    sync.Mutex
	next                  [publishers]int // per topic
	lastID                string
	moves, read           int
	holes, repeated, gaps int
	gap                   pushtest.Gap // the last
	reason                string       // of the last end
}

func (r *reader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("read %d, next %v, %d holes, %d repeated or late, %d gaps (%+v), %d streams; the last ended with %q",
		r.read, r.next, r.holes, r.repeated, r.gaps, r.gap, r.moves, r.reason)
}

func (r *reader) complete(each int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.next {
		if n < each {
			return false
		}
	}
	return true
}

func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.stream(ctx)
		r.mu.Lock()
		r.reason = fmt.Sprint(err)
		r.mu.Unlock()
		r.turn++
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (r *reader) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A node that does not answer is as good as none.
	give := time.AfterFunc(10*time.Second, cancel)
	defer give.Stop()
	q := pushtest.Query{Topics: []string{"t/*"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, q.URL(r.node(r.turn)+"/events"), nil)
	if err != nil {
		return err
	}
	if r.lastID != "" {
		req.Header.Set("Last-Event-ID", r.lastID)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	next, err := pushtest.NewDecoder("sse", resp.Body)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.moves++
	r.mu.Unlock()
	for {
		m, err := next()
		if err != nil {
			return err
		}
		give.Stop()
		r.note(&m)
	}
}

func (r *reader) note(m *pushtest.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.ID != "" {
		r.lastID = m.ID
	}
	select {
	case <-r.listens:
	default:
		close(r.listens)
	}
	if m.Gap != nil {
		r.gaps++
		r.gap = *m.Gap
	}
	if m.Topic == "" {
		return
	}
	p, _ := strconv.Atoi(strings.TrimPrefix(m.Topic, "t/"))
	n, _ := strconv.Atoi(string(m.Data))
	switch {
	case n < r.next[p]:
		r.repeated++
		return
	case n > r.next[p]:
		r.holes++
	}
	r.next[p] = n + 1
	r.read++
}
