package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

// A push is what is published to the subscribers of a workload.
type push struct {
	each int     // subscribers of a topic; 0: there is one topic, and all subscribe to it
	rate float64 // events a second, of all topics together
	size int     // bytes of an event
}

const (
	pushSize       = 64 // bytes of a published body
	pushTopics     = 10_000
	pushEach       = 3    // subscribers of a topic of push-topics
	topicsRate     = 5000 // events a second of push-topics
	publishers     = 16   // connections that publish to several topics
	spareFiles     = 256  // of a process, for what is not a subscriber
	eventsPath     = "/events?topic="
	publishPath    = "/publish?topic="
	checkTopic     = "check" // of the question before the runs
	checkBody      = `{"ts":1,"seq":1,"text":"check"}`
	readyEventSize = 64 << 10 // bytes in which the answer to it has to be
)

// pushNames lists the workloads of the family.
var pushNames = []string{"push-1k", "push-10k", "push-100k", "push-topics"}

// pushing lists the builtin subjects that serve the workloads of push, and feeding those of feed.
var (
	feeding = []string{"nethttp", "fasthttp", "echo", "redline", "redline-uring", "redline-epoll", "redline-std", "redline-nethttp", "redline-echo"}
	pushing = append(slices.Clone(feeding), floorName, centrifugeName)
)

// centrifugeName is the subject whose library wraps what is published.
const centrifugeName = "centrifuge"

// envelope returns where a subject's events have what was published: before the keys of the body.
func (s *Subject) envelope() string {
	if s.control && s.source() == centrifugeName {
		return "pub.data."
	}
	return ""
}

// findPush returns the workload of push with that name; nil for other names.
func findPush(name string) *workload {
	w := plaintext()
	w.family, w.floor, w.stream, w.push = familyPush, true, true, &push{size: pushSize}
	w.path, w.answer = eventsPath+spec.TopicMark, answer{contentType: "text/event-stream"}
	switch name {
	case "push-1k":
		w.connections, w.push.rate = 1000, 10
	case "push-10k":
		w.connections, w.push.rate = 10_000, 5
	case "push-100k":
		w.connections, w.push.rate = 100_000, 1
	case "push-topics":
		w.connections, w.push.each, w.push.rate = pushTopics*pushEach, pushEach, topicsRate
	default:
		return nil
	}
	w.title = w.push.title(w.connections)
	return &w
}

// topics returns the number of topics of that many subscribers.
func (p *push) topics(subscribers int) int {
	if p.each == 0 {
		return 1
	}
	return max(subscribers/p.each, 1)
}

// title describes the workload with that many subscribers.
func (p *push) title(subscribers int) string {
	if p.each > 0 {
		return fmt.Sprintf("%d topics with %d subscribers each", p.topics(subscribers), p.each)
	}
	return fmt.Sprintf("Broadcast: each event to %d subscribers", subscribers)
}

// words describes what is published.
func (p *push) words(subscribers int) string {
	text := fmt.Sprintf("%.0f events of %d bytes per second", p.rate, p.size)
	if p.each > 0 {
		text += fmt.Sprintf(", to %d topics in turn", p.topics(subscribers))
	}
	return text
}

// room returns how many connections a server or a generator can hold: each is one process, with
// the limit of open files that this one has.
func room() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return max(int(min(limit.Max, math.MaxInt32))-spareFiles, 1), nil
}

// fitPush limits the subscribers of the workloads of push to those that a process can hold, and
// notes it.
func (b *bench) fitPush() error {
	for _, w := range b.loads {
		if w.push == nil {
			continue
		}
		most, err := room()
		if err != nil {
			return err
		}
		if w.push.each > 0 {
			most = max(most/w.push.each*w.push.each, w.push.each)
		}
		want := b.connections(w)
		w.title = w.push.title(min(want, most))
		if want > most {
			w.most = most
			b.cfg.Notes = append(b.cfg.Notes, fmt.Sprintf(
				"%s has %d subscribers instead of %d: a process may open %d files here, and server and generator are one process each; "+
					"raise the limit (ulimit -Hn), or measure a server of several processes with redline load --workers",
				w.name, most, want, most+spareFiles))
		}
	}
	return nil
}

// listen returns the subscribers of a workload, and what is published to them.
func (b *bench) listen(w *workload, s *Subject, srv *server) *spec.Subscribe {
	// A stream that ends is an error, even if it ends properly.
	c := &spec.Subscribe{Format: spec.FormatEvents, Unit: "ns", Retry: retryAtOnce}
	switch {
	case w.feed != nil:
		c.Format, c.Stamp, c.ID = w.feed.format, w.feed.stamp, w.feed.id
		return c
	case w.push == nil:
		c.Stamp = "@data" // events carry their send time and no id
		return c
	}
	c.Stamp, c.ID = s.envelope()+"ts", s.envelope()+"seq"
	c.Topics = w.push.topics(b.connections(w))
	c.Publish = &spec.Publish{
		Addr: srv.addr, Rate: w.push.rate, Size: w.push.size, Connections: publishers,
		Head: fmt.Appendf(nil, "POST %s%s%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n", srv.prefix, publishPath, spec.TopicMark, srv.addr),
	}
	return c
}

// askPush subscribes to a topic, publishes to it, and checks that the event arrives, and that the
// head of the answer was there before it.
func askPush(ctx context.Context, client *http.Client, base string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+eventsPath+checkTopic, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("subscribe: no head of an answer before the first event: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if kind := (&answer{contentType: "text/event-stream"}).accepts(resp.Header.Get("Content-Type"), nil); resp.StatusCode != http.StatusOK || kind != "" {
		return fmt.Errorf("subscribe: status is %d, want 200; %s", resp.StatusCode, kind)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, base+publishPath+checkTopic, strings.NewReader(checkBody))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	done, err := client.Do(post)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(done.Body, readyEventSize)); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if err := done.Body.Close(); err != nil || done.StatusCode/100 != 2 {
		return errors.Join(err, fmt.Errorf("publish: status is %d, want 204", done.StatusCode))
	}
	for lines := bufio.NewScanner(io.LimitReader(resp.Body, readyEventSize)); lines.Scan(); {
		if data, is := strings.CutPrefix(lines.Text(), "data:"); is && strings.Contains(data, checkBody) {
			return nil
		}
	}
	return fmt.Errorf("the stream ended without the event that was published: want data: %s", checkBody)
}

// fillPush sets the run's figures of subscribers and publishers.
func (w *watch) fillPush(r *spec.Result) {
	h := r.Listen
	if h == nil || h.Publish == nil {
		return
	}
	p := h.Publish
	w.run.Push = &results.Push{
		Subscribers: h.Subscribers, Standing: h.Standing, Topics: p.Topics, Due: p.Due, Accepted: p.Accepted,
		Missed: h.Missed, Duplicated: h.Duplicated, Lost: p.Lost,
	}
	if h.Standing > 0 {
		each := (float64(w.run.Memory.RSSFinalBytes) - float64(w.run.Memory.RSSBaseBytes)) / float64(h.Standing)
		w.run.Memory.PerConnectionBytes = &each
	}
}

// pushGates returns the gates of a run with publishers.
func pushGates(r *spec.Result) ([]results.Gate, error) {
	if r.Listen == nil || r.Listen.Publish == nil {
		return nil, nil
	}
	return verdict.Push(r.Listen)
}
