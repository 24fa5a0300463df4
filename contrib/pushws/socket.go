package pushws

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// A socket is the response of a stream: each Write of the hub is a message. It has no Unwrap,
// so that the hub serves it as it does on net/http.
type socket struct {
	w        http.ResponseWriter
	r        *http.Request
	protocol protocol
	origins  []string
	header   http.Header
	refused  bool // the response is none of a stream
	conn     *websocket.Conn
	err      error // why there is no connection
	deadline time.Time
	code     websocket.StatusCode // why the stream has ended, if the last message was a bye

	// A write whose context ends takes the connection with it. So there are two: one for the
	// connection, and one for the stream, which ends first when the client is owed a close.
	alive      context.Context // done when the client is gone, or the hub has cut it
	cut        context.CancelFunc
	ctx        context.Context // done when alive is, or the client said what it had not to
	stop       context.CancelFunc
	background sync.WaitGroup
	speaks     atomic.Bool   // the client sent a message
	ping       chan struct{} // of capacity 1: an answer is awaited
}

func newSocket(w http.ResponseWriter, r *http.Request, p protocol, origins []string) *socket {
	s := &socket{w: w, r: r, protocol: p, origins: origins, header: http.Header{}, code: websocket.StatusGoingAway, ping: make(chan struct{}, 1)}
	s.alive, s.cut = context.WithCancel(r.Context())
	s.ctx, s.stop = context.WithCancel(s.alive)
	return s
}

// Header implements http.ResponseWriter.
func (s *socket) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter: the head of a stream opens the connection.
func (s *socket) WriteHeader(status int) {
	if s.refused || s.conn != nil || s.err != nil {
		return
	}
	if status != http.StatusOK || s.r.Method == http.MethodHead {
		s.refused = true
		maps.Copy(s.w.Header(), s.header)
		s.w.WriteHeader(status)
		return
	}
	// "*" opens event streams to all pages because browsers send no credentials with them then. With a
	// WebSocket they always do.
	named := slices.DeleteFunc(slices.Clone(s.origins), func(o string) bool { return o == "*" })
	s.conn, s.err = websocket.Accept(s.w, s.r, &websocket.AcceptOptions{OriginPatterns: named, Subprotocols: []string{Subprotocol}})
	if s.err != nil {
		return
	}
	s.conn.SetReadLimit(readLimit)
	s.background.Go(s.read)
}

// read answers pings and closes until the client has left, or sends anything else.
func (s *socket) read() {
	if _, _, err := s.conn.Reader(s.alive); err != nil {
		s.cut()
		return
	}
	s.speaks.Store(true)
	s.stop()
}

// Write implements http.ResponseWriter.
func (s *socket) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	switch {
	case s.refused:
		return s.w.Write(p)
	case s.err != nil:
		return 0, s.err
	}
	message := s.protocol.unframe(p)
	if len(message) == 0 {
		s.beat()
		return len(p), nil
	}
	s.code = code(message)
	ctx, cancel := context.WithDeadline(s.alive, s.deadline)
	defer cancel()
	if err := s.conn.Write(ctx, s.protocol.kind, message); err != nil {
		return 0, err
	}
	return len(p), nil
}

// beat sends a ping, unless the last one has not been answered.
func (s *socket) beat() {
	select {
	case s.ping <- struct{}{}:
	default:
		return
	}
	ctx, cancel := context.WithDeadline(s.alive, s.deadline)
	s.background.Go(func() {
		defer cancel()
		if s.conn.Ping(ctx) != nil {
			s.cut()
		}
		<-s.ping
	})
}

// SetWriteDeadline is called through http.ResponseController: before each write, and by any
// goroutine with a time of the past to cut the client.
func (s *socket) SetWriteDeadline(t time.Time) error {
	if time.Until(t) <= 0 {
		s.cut()
		return nil
	}
	s.deadline = t
	return nil
}

// FlushError is called through http.ResponseController. Messages are flushed as they are
// written; what matters is that the client is there.
func (s *socket) FlushError() error { return errors.Join(s.err, context.Cause(s.ctx)) }

// end ends the connection: in order, if the hub ended the stream in order.
func (s *socket) end() {
	defer s.background.Wait()
	defer s.cut()
	switch {
	case s.conn != nil && s.speaks.Load():
		_ = s.conn.Close(websocket.StatusPolicyViolation, "send nothing here")
	case s.conn != nil && s.ctx.Err() == nil:
		_ = s.conn.Close(s.code, "") // the client need not answer
	case s.conn != nil:
		_ = s.conn.CloseNow()
	}
}

// maxBye bounds the length of a bye, in bytes.
const maxBye = 256

// behind are the reasons of a bye to clients that were too slow, as NDJSON and protobuf have them. No reason of a
// push.Ending contains one: NDJSON escapes quotes, and a control character is refused.
var behind = map[bool][2]string{true: {`"slow"`, `"memory"`}, false: {"\n\x04slow", "\n\x06memory"}}

// code says why a stream ends whose last message this is, a bye: a client that was too slow had
// better come back later, others can at once.
func code(message []byte) websocket.StatusCode {
	if len(message) <= maxBye {
		for _, reason := range behind[bytes.HasPrefix(message, []byte("{"))] {
			if bytes.Contains(message, []byte(reason)) {
				return websocket.StatusTryAgainLater
			}
		}
	}
	return websocket.StatusGoingAway
}
