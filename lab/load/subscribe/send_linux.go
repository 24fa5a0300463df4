package subscribe

import (
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/wire"
)

// write sends the rest of the request, and reports whether the connection stays open.
func (l *Loop) write(i int32, s *subscriber) bool {
	b := l.book
	for {
		out := b.unsent(i)
		if len(out) == 0 {
			return true
		}
		n, errno := wire.Send(int(s.fd), out)
		switch errno {
		case 0:
			b.took(i, n)
			b.BytesOut += uint64(n)
		case unix.EAGAIN:
			return true
		case unix.EINTR:
		default:
			b.lost(i, Reset, l.Now())
			return false
		}
	}
}

// sendNow sends b on the connection of a subscriber, at once and whole: a WebSocket of a client
// has next to no output.
func (l *Loop) sendNow(i int32, b []byte) bool {
	n, errno := wire.Send(int(l.book.subs[i].fd), b)
	if errno != 0 || n < len(b) {
		return false
	}
	l.book.BytesOut += uint64(n)
	return true
}

// resume lets a slow subscriber read again.
func (l *Loop) resume(i int32, now int64) {
	l.again = append(l.again, again{i, l.book.subs[i].gen, 0, now})
}

// full reports whether a slow subscriber reads nothing, ever: room is 0. The end of its connection
// is seen all the same.
func (l *Loop) full(i int32, flags uint32, room int) bool {
	if room > 0 {
		return false
	}
	if flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.book.lost(i, Closed, l.Now())
	}
	return true
}
