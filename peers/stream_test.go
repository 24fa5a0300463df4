//go:build linux

package peers_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

var eventForm = regexp.MustCompile(`^data: (\d{19}) \.*\n\n$`)

// events reads the head of a stream's answer and gives a function that reads one
// event of size bytes and returns its time.
func (c *client) events(t *testing.T) func(size int) time.Time {
	t.Helper()
	answer, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || !slices.Equal(answer.TransferEncoding, []string{"chunked"}) {
		t.Fatalf("%s, transfer encoding %q", answer.Status, answer.TransferEncoding)
	}
	checkType(t, answer, "text/event-stream")
	return func(size int) time.Time {
		t.Helper()
		event := make([]byte, size)
		if _, err := io.ReadFull(answer.Body, event); err != nil {
			t.Fatal(err)
		}
		match := eventForm.FindSubmatch(event)
		if match == nil {
			t.Fatalf("event is %.80q", event)
		}
		nanoseconds, err := strconv.ParseInt(string(match[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Unix(0, nanoseconds)
	}
}

func TestStream(t *testing.T) {
	const clocks = time.Minute // how far they may be apart, or be set while this runs
	tests := []struct {
		interval string
		size     int
		events   int
	}{
		{"1ms", 32, 50},
		{"10ms", 40, 5},
		{"1ms", 4096, 20},
		{"5ms", 65536, 5},
		{"1h", 40, 1}, // the first one comes at once
		{"1h", 65536, 1},
	}
	each(t, subjects, func(t *testing.T, name string) {
		p := start(t, name)
		for _, test := range tests {
			begun := time.Now()
			c := p.dial(t)
			c.send(t, streamRequest(test.interval, test.size))
			next := c.events(t)
			last := begun
			for range test.events {
				stamp := next(test.size)
				if stamp.Before(last.Add(-clocks)) || stamp.After(time.Now().Add(clocks)) {
					t.Errorf("%+v: an event of %v came after one of %v, at %v", test, stamp, last, time.Now())
				}
				last = stamp
			}
		}
		c := p.dial(t)
		c.send(t, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
		next := c.events(t)
		next(40)
		next(40)
	})
}

// TestStreamEnds opens streams and leaves them, several times, and counts the
// goroutines that stay. Stacks on fasthttp see that a client has left when they
// write to it; the others see it at once, however long the interval.
func TestStreamEnds(t *testing.T) {
	const clients, rounds = 20, 3
	intervals := map[string][]string{"fasthttp": {"10ms"}, "fiber": {"10ms"}}
	each(t, stacks, func(t *testing.T, name string) {
		p := start(t, name)
		before := p.snapshot(t).Goroutines
		chosen := intervals[name]
		if chosen == nil {
			chosen = []string{"10ms", "1h"}
		}
		for _, interval := range chosen {
			for range rounds {
				var open []*client
				for range clients {
					c := p.dial(t)
					c.send(t, streamRequest(interval, 40))
					c.events(t)(40)
					open = append(open, c)
				}
				// Some of them may have been there before, without work.
				if n := p.snapshot(t).Goroutines; n < before+clients/2 {
					t.Errorf("%d goroutines serve %d streams, %d before: the measure is blind", n, clients, before)
				}
				for _, c := range open {
					c.Close()
				}
				// One idle worker a connection may stay for a while, for the next
				// round; what is lost adds up over the rounds.
				eventually(t, func() error {
					if n := p.snapshot(t).Goroutines; n > before+clients+5 {
						return fmt.Errorf("%d goroutines before, %d after %d streams of %s", before, n, clients, interval)
					}
					return nil
				})
			}
		}
	})
}
