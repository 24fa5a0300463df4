//go:build linux

package main

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/peers/internal/subject"
)

// A listener is a connection that receives the events of a topic.
type listener struct {
	fd   int
	gone bool
}

// The beginnings of requests that ask for events, and that publish one.
var (
	eventsTarget  = []byte("GET /events?topic=")
	publishTarget = []byte("POST /publish?topic=")
)

const published = "HTTP/1.1 204 No Content\r\nServer: limit\r\n\r\n"

// push answers a request that asks for events or publishes one, and reports whether it does.
// Nothing of it is parsed: the topic ends with the target, and what follows the head is the body,
// which has to arrive together with the head.
func (l *loop) push(fd int, c *conn, request []byte) (bool, error) {
	if rest, is := bytes.CutPrefix(request, eventsTarget); is {
		if n, _ := send(fd, []byte(streamHead)); n < len(streamHead) {
			return true, l.drop(fd)
		}
		if l.topics == nil {
			l.topics = map[string][]*listener{}
		}
		topic, _, _ := bytes.Cut(rest, []byte(" "))
		c.listens = &listener{fd: fd}
		l.topics[string(topic)] = append(l.topics[string(topic)], c.listens)
		return true, nil
	}
	rest, is := bytes.CutPrefix(request, publishTarget)
	if !is {
		return false, nil
	}
	topic, _, _ := bytes.Cut(rest, []byte(" "))
	_, body, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
	event, err := subject.Published(body)
	if err != nil {
		return true, l.drop(fd)
	}
	if err := l.spread(string(topic), event); err != nil {
		return true, err
	}
	if n, _ := send(fd, []byte(published)); n < len(published) {
		return true, l.drop(fd)
	}
	return true, nil
}

// spread sends an event to the listeners of a topic: one send each. A client that has not
// received the last event misses this one.
func (l *loop) spread(topic string, event []byte) error {
	text, _ := chunk(event)
	all := l.topics[topic]
	kept := all[:0]
	for _, s := range all {
		if s.gone {
			continue
		}
		kept = append(kept, s)
		c := l.conns[s.fd]
		if len(c.rest) > 0 {
			continue
		}
		n, errno := send(s.fd, text)
		switch {
		case errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR:
			if err := l.drop(s.fd); err != nil {
				return err
			}
		case n < len(text):
			c.rest = append(c.rest, text[n:]...)
			if err := l.watch(unix.EPOLL_CTL_MOD, s.fd, unix.EPOLLOUT); err != nil {
				return err
			}
		}
	}
	clear(all[len(kept):])
	if l.topics[topic] = kept; len(kept) == 0 {
		delete(l.topics, topic)
	}
	return nil
}
