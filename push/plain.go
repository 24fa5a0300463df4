package push

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

// plain is a subscriber served by any server of net/http, on the goroutine of its handler.
type plain struct {
	subscriber
	control *http.ResponseController
	w       http.ResponseWriter
	ready   chan struct{} // of capacity 1: there may be something to send
	cut     chan struct{} // closed by abort
	t       turn          // what is being sent; changed under the shard's lock
	from    string        // RemoteAddr

	mu    sync.Mutex // guards the deadline, which abort sets
	isCut bool
}

func (p *plain) wake() {
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// unsent implements sink.
func (p *plain) unsent(yield func(*frame)) {
	for _, f := range p.t.frames {
		yield(f)
	}
}

// discard implements sink. What is being written is written.
func (p *plain) discard() {}

// forget releases what was not sent.
func (p *plain) forget() {
	p.shard.mu.Lock()
	defer p.shard.mu.Unlock()
	p.t.release()
}

func (p *plain) abort() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCut {
		return
	}
	p.isCut = true
	close(p.cut)
	_ = p.control.SetWriteDeadline(time.Unix(1, 0)) // what cannot be interrupted ends by itself
}

// finish keeps abort from touching a response whose handler has returned.
func (p *plain) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
}

// extend gives the client time to accept the next write, unless it was cut.
func (p *plain) extend(d time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCut {
		return false
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(d)) // a server without deadlines has its own
	return true
}

// errFlush is what a client is told when CanFlush reports false.
var errFlush = errors.New("the server cannot send events here")

// CanFlush reports whether a ResponseWriter, or one that it unwraps to, can send what was
// written before its handler returns. Without that there are no streams: [Handler] answers with
// 500. It is for those who wrap a ResponseWriter for a Handler by one with a FlushError of its
// own.
func CanFlush(w http.ResponseWriter) bool {
	for {
		switch v := w.(type) {
		case interface{ FlushError() error }, http.Flusher:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return false
		}
	}
}

// servePlain answers a request on a server other than redline.Server.
func (h *Handler) servePlain(w http.ResponseWriter, r *http.Request, j *joining) error {
	if !CanFlush(w) {
		h.cannot.Do(func() {
			h.hub.o.Logger.Error("push: no events can be sent: the ResponseWriter has neither Flush nor Unwrap. "+
				"Remove the middleware that wraps it, or give its ResponseWriter the method Unwrap() http.ResponseWriter",
				"type", fmt.Sprintf("%T", w), "path", r.URL.Path)
		})
		return errFlush
	}
	return h.hub.servePlain(w, r, j)
}

// servePlain answers a request whose handler may block.
func (h *Hub) servePlain(w http.ResponseWriter, r *http.Request, j *joining) error {
	p := &plain{
		control: http.NewResponseController(w), w: w, from: r.RemoteAddr,
		ready: make(chan struct{}, 1), cut: make(chan struct{}),
	}
	p.sink = p
	if err := h.admit(&p.subscriber, j); err != nil {
		return err
	}
	h.join(&p.subscriber, nil, j)
	defer p.finish()
	defer h.leave(&p.subscriber)
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // the deadline of the last write stays
	}
	h.head(w.Header(), j)
	w.WriteHeader(http.StatusOK)
	if !p.send(nil) { // the head alone: the first event may be hours away
		return nil
	}
	t := &p.t
	defer p.forget()
	for {
		h.turn(&p.subscriber, t)
		if len(t.frames) > 0 && !p.send(t.frames) {
			return nil
		}
		switch {
		case t.done:
			return nil
		case t.more, len(t.frames) > 0:
			continue // it is no longer busy
		}
		select {
		case <-p.ready:
		case <-p.cut:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// send writes and flushes, and reports whether the client is still there.
func (p *plain) send(frames []*frame) bool {
	timeout := p.shard.hub.o.WriteTimeout
	for _, f := range frames {
		if !p.extend(timeout) {
			return false
		}
		if _, err := p.w.Write(f.bytes()); err != nil {
			return p.failed(err)
		}
	}
	if !p.extend(timeout) {
		return false
	}
	err := p.control.Flush()
	return err == nil || p.failed(err)
}

// failed notes why a write has failed, and reports false.
func (p *plain) failed(err error) bool {
	p.mu.Lock()
	cut := p.isCut
	p.mu.Unlock() // abort is called under the shard's lock
	if errors.Is(err, os.ErrDeadlineExceeded) && !cut {
		p.stalled()
	}
	return false
}
