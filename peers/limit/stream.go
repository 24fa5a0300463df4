//go:build linux

package main

import (
	"bytes"
	"net/url"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/peers/internal/subject"
)

// A subscriber is a connection whose answer is a stream of events: one send each.
type subscriber struct {
	fd       int
	spec     subject.Stream
	due      time.Time // of the next event
	followed *subscriber
	gone     bool
}

// streamTarget begins a request that asks for a stream.
var streamTarget = []byte("GET /stream")

// streamHead is the beginning of an endless answer.
const streamHead = "HTTP/1.1 200 OK\r\nServer: limit\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"

// A queue holds the subscribers of one interval, who are due in the order in which
// they were served last.
type queue struct{ first, last *subscriber }

func (q *queue) push(s *subscriber) {
	if s.followed = nil; q.first == nil {
		q.first = s
	} else {
		q.last.followed = s
	}
	q.last = s
}

// subscribe begins the stream that a request asks for, and reports whether it does.
func (l *loop) subscribe(fd int, c *conn, request []byte) (bool, error) {
	if !bytes.HasPrefix(request, streamTarget) {
		return false, nil
	}
	line, _, _ := bytes.Cut(request, []byte(" HTTP/1.1\r\n"))
	_, query, _ := bytes.Cut(line, []byte("?"))
	values, err := url.ParseQuery(string(query))
	if err != nil {
		return true, l.drop(fd)
	}
	s := &subscriber{fd: fd, due: time.Now()}
	if s.spec, err = subject.ParseStream(values.Get("interval"), values.Get("size")); err != nil {
		return true, l.drop(fd)
	}
	if n, _ := send(fd, []byte(streamHead)); n < len(streamHead) {
		return true, l.drop(fd)
	}
	if l.queues == nil {
		l.queues, l.texts = map[time.Duration]*queue{}, map[int]*frame{}
	}
	if l.queues[s.spec.Interval] == nil {
		l.queues[s.spec.Interval] = new(queue)
	}
	if l.texts[s.spec.Size] == nil {
		l.texts[s.spec.Size] = newFrame(s.spec)
	}
	c.stream = s
	return true, l.publish(s)
}

// publish sends an event, and schedules the next one. A client that has not received the
// last event misses this one.
func (l *loop) publish(s *subscriber) (err error) {
	if c := l.conns[s.fd]; len(c.rest) == 0 {
		text := l.texts[s.spec.Size].stamp(time.Now())
		n, errno := send(s.fd, text)
		switch {
		case errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR:
			return l.drop(s.fd)
		case n < len(text):
			c.rest = append(c.rest, text[n:]...)
			err = l.watch(unix.EPOLL_CTL_MOD, s.fd, unix.EPOLLOUT)
		}
	}
	s.due = s.due.Add(s.spec.Interval)
	l.queues[s.spec.Interval].push(s)
	return err
}

// publishDue sends all events that are due, and returns how long it is until the
// next one in milliseconds, rounded up; -1 when there are no subscribers.
func (l *loop) publishDue() (wait int, err error) {
	wait = -1
	for _, q := range l.queues {
		for now := time.Now(); q.first != nil && (q.first.gone || !q.first.due.After(now)); {
			s := q.first
			q.first = s.followed
			if s.gone {
				continue
			}
			if err := l.publish(s); err != nil {
				return 0, err
			}
		}
		if q.first == nil {
			continue
		}
		left := max(0, int((time.Until(q.first.due)+time.Millisecond-1)/time.Millisecond))
		if wait < 0 || left < wait {
			wait = left
		}
	}
	return wait, nil
}

// A frame is an event as a chunk whose stamp changes. All subscribers of one size share it.
type frame struct {
	text  []byte
	event *subject.Event
	at    int // of the event in text
}

func newFrame(spec subject.Stream) *frame {
	f := &frame{event: spec.NewEvent()}
	event := f.event.Stamp(time.Now())
	f.text, f.at = chunk(event)
	return f
}

// stamp puts now into it. The slice is valid until the next call.
func (f *frame) stamp(now time.Time) []byte {
	copy(f.text[f.at:], f.event.Stamp(now))
	return f.text
}
