package suite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

// retryAtOnce is the time until a subscriber connects again: its stream must not have ended.
const retryAtOnce = time.Millisecond

// feedClients is the number of subscribers of the workloads of feed.
const feedClients = 500

// A feed is a stream of events that each subscriber receives from the server's own clock.
type feed struct {
	format    string // of spec.Subscribe
	stamp, id string // where an event has its time and number
}

// feedNames lists the twelve groups: in clear and over TLS, three loads, two formats.
var feedNames = twelve()

// The parts of the groups' names.
var (
	feedLoads = []struct {
		name     string
		size     int // bytes of an event's text
		interval time.Duration
	}{{"64-100ms", 64, 100 * time.Millisecond}, {"1k-100ms", 1024, 100 * time.Millisecond}, {"64-10ms", 64, 10 * time.Millisecond}}
	feedFormats = []struct {
		name, title, media string
		feed
	}{
		{"json", "server-sent events with JSON", "text/event-stream", feed{spec.FormatEvents, "ts", "seq"}},
		{"protobuf", "delimited protobuf", "application/x-protobuf", feed{spec.FormatVarint, "#1", "#2"}},
	}
)

const feedOverTLS = "-tls"

func twelve() (names []string) {
	for _, over := range []string{"", feedOverTLS} {
		for _, l := range feedLoads {
			for _, f := range feedFormats {
				names = append(names, "feed-"+l.name+"-"+f.name+over)
			}
		}
	}
	return names
}

// findFeed returns the workload of feed with that name; nil for other names.
func findFeed(name string) *workload {
	bare, overTLS := strings.CutSuffix(name, feedOverTLS)
	for _, l := range feedLoads {
		for _, f := range feedFormats {
			if bare != "feed-"+l.name+"-"+f.name {
				continue
			}
			w := plaintext()
			one := f.feed
			w.family, w.floor, w.stream, w.feed, w.connections = familyFeed, false, true, &one, feedClients
			w.path = fmt.Sprintf("/feed?interval=%v&size=%d&format=%s", l.interval, l.size, f.name)
			w.answer = answer{contentType: f.media}
			w.title = fmt.Sprintf("%d bytes each %v to each of %d clients, %s", l.size, l.interval, feedClients, f.title)
			if overTLS {
				w.secure = &secure{}
				w.title += ", over TLS"
			}
			return &w
		}
	}
	return nil
}

// maxFeedEvent bounds an event of the check before the runs, in bytes.
const maxFeedEvent = 64 << 10

// checkFeed reads three events, and checks their format.
func checkFeed(r io.Reader, f *feed) error {
	in := bufio.NewReaderSize(r, maxFeedEvent)
	for i := range 3 {
		if f.format == spec.FormatVarint {
			n, err := binary.ReadUvarint(in)
			if err != nil || n == 0 || n > maxFeedEvent {
				return errors.Join(err, fmt.Errorf("event %d: a length of %d, want 1 to %d", i, n, maxFeedEvent))
			}
			if _, err := in.Discard(int(n)); err != nil {
				return fmt.Errorf("event %d: %w", i, err)
			}
			continue
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if !strings.HasPrefix(line, `data:`) || !strings.Contains(line, fmt.Sprintf(`"seq":%d,`, i+1)) {
			return fmt.Errorf("event %d is %.80q, want data: and JSON with ts, seq and text", i, line)
		}
		if end, err := in.ReadString('\n'); err != nil || end != "\n" {
			return errors.Join(err, fmt.Errorf("event %d does not end in an empty line", i))
		}
	}
	return nil
}
