package backend

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// kept is the maximum number of idle connections in a pool; there are never more requests
// in flight than a workload has connections.
const kept = 256

// A pool holds connections to the backend that waits. A connection carries one question at
// a time: eight bytes, little-endian, the nanoseconds to wait. The answer is the same eight
// bytes.
type pool struct {
	addr string
	idle chan *link
}

// A link is one connection, with room for what goes over it.
type link struct {
	net.Conn
	word [8]byte
}

func newPool(addr string) *pool { return &pool{addr: addr, idle: make(chan *link, kept)} }

// ask makes the backend wait for d.
func (p *pool) ask(d time.Duration) error {
	l, err := p.take()
	if err != nil {
		return fmt.Errorf("connect to the backend: %w", err)
	}
	if err := l.ask(d); err != nil {
		l.Close() // the error that counts is why
		return fmt.Errorf("ask the backend: %w", err)
	}
	select {
	case p.idle <- l:
		return nil
	default:
		return l.Close()
	}
}

func (p *pool) take() (*link, error) {
	select {
	case l := <-p.idle:
		return l, nil
	default:
	}
	conn, err := net.Dial("unix", p.addr)
	if err != nil {
		return nil, err
	}
	return &link{Conn: conn}, nil
}

func (l *link) ask(d time.Duration) error {
	binary.LittleEndian.PutUint64(l.word[:], uint64(d))
	if _, err := l.Write(l.word[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(l, l.word[:]); err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint64(l.word[:]); got != uint64(d) {
		return fmt.Errorf("answer %d to %d", got, uint64(d))
	}
	return nil
}
